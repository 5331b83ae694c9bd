import{I as l}from"./chunk-U6ZQG4QY.js";function $(t,o){let i=o.title?`**${s(o.title)}**`:"",r=t.text?t.text(o,x):y(o);return[i,r].filter(Boolean).join(`

`)}var j=t=>typeof t=="object"&&t!==null&&!Array.isArray(t),p=t=>Array.isArray(t)&&t.length>0&&t.every(j);function y({title:t,...o}){let i=Object.entries(o).filter(([,n])=>n!=null),r=i.filter(([,n])=>!p(n)).map(([n,c])=>`- ${s(n)}: ${s(m(c))}`),e=i.filter(([,n])=>p(n)).map(([n,c])=>`${s(n)}:

${a(c)}`);return[r.join(`
`),...e].filter(Boolean).join(`

`)}function a(t){let o=[...new Set(t.flatMap(Object.keys))],i=(e,n)=>Object.hasOwn(e,n)?e[n]:null,r=e=>typeof e=="object"&&e!==null?m(e):e;return f([o,...t.map(e=>o.map(n=>r(i(e,n))))])}function m(t){return Array.isArray(t)&&!t.some(o=>typeof o=="object")?t.join(", "):typeof t=="object"?JSON.stringify(t):String(t)}var b=t=>t.replace(/^/gm,"> ");function f([t,...o]){let i=t.map((e,n)=>o.length>0&&o.every(c=>c[n]===null||typeof c[n]=="number")),r=e=>`| ${e.map(g).join(" | ")} |`;return[r(t),`|${i.map(e=>e?" ---: ":" --- ").join("|")}|`,...o.map(r)].join(`
`)}var g=t=>t==null?"":s(String(t)),s=t=>t.replace(/\s+/g," ").trim().replace(/[\\`*_[\]<>|#~&]/g,"\\$&"),u=(t,o,i)=>f([[t,...i.map(l)],...o.map((r,e)=>[r,...i.map(({data:n})=>n[e])])]),x={table:f,columns:u,inline:s,quoted:b};export{$ as a,b,s as c};
//# sourceMappingURL=chunk-DN6EUFNB.js.map
