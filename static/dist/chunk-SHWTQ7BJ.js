import{J as l,ga as p}from"./chunk-HLNBHP72.js";function A(n,o){let r=o.title?`**${s(o.title)}**`:"",i=y(n,o)??u(o);return[r,i].filter(Boolean).join(`

`)}function y({text:n},o){if(!n)return null;try{let r=n(o,O);if(typeof r!="string")throw new TypeError("text() of a component gave no string");return r}catch(r){return reportError(r),null}}var j=n=>typeof n=="object"&&n!==null&&!Array.isArray(n),m=n=>Array.isArray(n)&&n.length>0&&n.every(j);function u({title:n,...o}){let r=Object.entries(o).filter(([,t])=>t!=null),i=r.filter(([,t])=>!m(t)).map(([t,c])=>`- ${s(t)}: ${s(a(c))}`),e=r.filter(([,t])=>m(t)).map(([t,c])=>`${s(t)}:

${b(c)}`);return[i.join(`
`),...e].filter(Boolean).join(`

`)}function b(n){let o=[...new Set(n.flatMap(Object.keys))],r=(e,t)=>Object.hasOwn(e,t)?e[t]:null,i=e=>typeof e=="object"&&e!==null?a(e):e;return f([o,...n.map(e=>o.map(t=>i(r(e,t))))])}function a(n){return Array.isArray(n)&&!n.some(o=>typeof o=="object")?n.join(", "):typeof n=="object"?l(n,0):String(n)}var g=n=>n.replace(/^/gm,"> ");function f([n,...o]){let r=n.map((e,t)=>o.length>0&&o.every(c=>c[t]===null||typeof c[t]=="number")),i=e=>`| ${e.map($).join(" | ")} |`;return[i(n),`|${r.map(e=>e?" ---: ":" --- ").join("|")}|`,...o.map(i)].join(`
`)}var $=n=>n==null?"":s(String(n)),s=n=>n.replace(/\s+/g," ").trim().replace(/[\\`*_[\]<>|#~&]/g,"\\$&"),x=(n,o,r)=>f([[n,...r.map(p)],...o.map((i,e)=>[i,...r.map(({data:t})=>t[e])])]),O={table:f,columns:x,inline:s,quoted:g};export{A as a,g as b,s as c};
//# sourceMappingURL=chunk-SHWTQ7BJ.js.map
