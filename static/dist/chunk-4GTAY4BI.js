import{I as l}from"./chunk-QPPZ2MNQ.js";function d(n,e){let r=e.title?`**${s(e.title)}**`:"",i=y(n,e)??j(e);return[r,i].filter(Boolean).join(`

`)}function y({text:n},e){if(!n)return null;try{let r=n(e,$);if(typeof r!="string")throw new TypeError("text() of a component gave no string");return r}catch(r){return reportError(r),null}}var a=n=>typeof n=="object"&&n!==null&&!Array.isArray(n),p=n=>Array.isArray(n)&&n.length>0&&n.every(a);function j({title:n,...e}){let r=Object.entries(e).filter(([,t])=>t!=null),i=r.filter(([,t])=>!p(t)).map(([t,c])=>`- ${s(t)}: ${s(m(c))}`),o=r.filter(([,t])=>p(t)).map(([t,c])=>`${s(t)}:

${u(c)}`);return[i.join(`
`),...o].filter(Boolean).join(`

`)}function u(n){let e=[...new Set(n.flatMap(Object.keys))],r=(o,t)=>Object.hasOwn(o,t)?o[t]:null,i=o=>typeof o=="object"&&o!==null?m(o):o;return f([e,...n.map(o=>e.map(t=>i(r(o,t))))])}function m(n){return Array.isArray(n)&&!n.some(e=>typeof e=="object")?n.join(", "):typeof n=="object"?JSON.stringify(n):String(n)}var g=n=>n.replace(/^/gm,"> ");function f([n,...e]){let r=n.map((o,t)=>e.length>0&&e.every(c=>c[t]===null||typeof c[t]=="number")),i=o=>`| ${o.map(b).join(" | ")} |`;return[i(n),`|${r.map(o=>o?" ---: ":" --- ").join("|")}|`,...e.map(i)].join(`
`)}var b=n=>n==null?"":s(String(n)),s=n=>n.replace(/\s+/g," ").trim().replace(/[\\`*_[\]<>|#~&]/g,"\\$&"),O=(n,e,r)=>f([[n,...r.map(l)],...e.map((i,o)=>[i,...r.map(({data:t})=>t[o])])]),$={table:f,columns:O,inline:s,quoted:g};export{d as a,g as b,s as c};
//# sourceMappingURL=chunk-4GTAY4BI.js.map
