import{G as j,H as g,r as u,s as p,t as d,u as $,w as m}from"./chunk-3QQEK2KN.js";function Y({title:n,messages:t}){let o=[],i=[`# ${s(n||"Untitled")}`,...t.map(r=>B(r,o))],e=o.map((r,c)=>`[image-${c+1}]: ${r}`);return`${[...i,e.join(`
`)].filter(Boolean).join(`

`)}
`}var z=({parts:n})=>b(n,t=>t.type==="text"?t.text:$(t)&&(w(t)||x(t))),b=(n,t)=>n.map(t).filter(Boolean).join(`

`);function B(n,t){let o=b(n.parts,i=>(I[i.type]??k)(i,t));return[n.role==="user"?"## You":"## Assistant",o,E(n)].filter(Boolean).join(`

`)}function E({ended:n,error:t,finishReason:o}){return t?l(`Failed: ${s(t.message)}`):n?l(`Not finished: ${s(n.reason)}`):Object.hasOwn(m,o)?l(m[o]):""}var k=()=>"",I={text:({text:n})=>n,reasoning:({text:n})=>l(`Thought: ${n}`),image({image:n,alt:t},o){return o.push(n),`![${s(t||"Image")}][image-${o.length}]`},"tool-call":n=>w(n)||x(n)};function w(n){return n.toolName===p&&n.state==="shown"?M(n.result??n.args??{}):n.toolName===d?q(n):""}function M(n){let t=g(n);if(!t)return"";let{component:o,props:i}=t,e=i.title?`**${s(i.title)}**`:"",r=o.text?o.text(i,J):_(i);return[e,r].filter(Boolean).join(`

`)}var R=n=>typeof n=="object"&&n!==null&&!Array.isArray(n),y=n=>Array.isArray(n)&&n.length>0&&n.every(R);function _({title:n,...t}){let o=Object.entries(t).filter(([,r])=>r!=null),i=o.filter(([,r])=>!y(r)).map(([r,c])=>`- ${s(r)}: ${s(O(c))}`),e=o.filter(([,r])=>y(r)).map(([r,c])=>`${s(r)}:

${F(c)}`);return[i.join(`
`),...e].filter(Boolean).join(`

`)}function F(n){let t=[...new Set(n.flatMap(Object.keys))],o=(e,r)=>Object.hasOwn(e,r)?e[r]:null,i=e=>typeof e=="object"&&e!==null?O(e):e;return a([t,...n.map(e=>t.map(r=>i(o(e,r))))])}function O(n){return Array.isArray(n)&&!n.some(t=>typeof t=="object")?n.join(", "):typeof n=="object"?JSON.stringify(n):String(n)}function q({args:n,state:t,result:o}){let{value:i,values:e,date:r,start:c,end:A,cancelled:S}=o??{},T=e??[i??r??(c&&`${c} to ${A}`)],N=t==="result"&&!S?T.filter(f=>f!==void 0).map(f=>s(String(f))).join(", "):"not answered";return l(`${s(n?.prompt??"Question")}: ${N||"nothing"}`)}function x({toolName:n,argsText:t,state:o,result:i}){let e=i===void 0?[]:[h(u(i))];return[`**Tool ${s(n)}** (${s(o)})`,h(t||"{}"),...e].join(`

`)}function h(n){let t=(n.match(/`+/g)??[]).reduce((i,{length:e})=>Math.max(i,e),2),o="`".repeat(t+1);return`${o}json
${n}
${o}`}var l=n=>n.replace(/^/gm,"> ");function a([n,...t]){let o=n.map((e,r)=>t.length>0&&t.every(c=>c[r]===null||typeof c[r]=="number")),i=e=>`| ${e.map(C).join(" | ")} |`;return[i(n),`|${o.map(e=>e?" ---: ":" --- ").join("|")}|`,...t.map(i)].join(`
`)}var C=n=>n==null?"":s(String(n)),s=n=>n.replace(/\s+/g," ").trim().replace(/[\\`*_[\]<>|#~&]/g,"\\$&"),D=(n,t,o)=>a([[n,...o.map(j)],...t.map((i,e)=>[i,...o.map(({data:r})=>r[e])])]),J={table:a,columns:D,inline:s,quoted:l};export{Y as a,z as b,_ as c};
//# sourceMappingURL=chunk-ROSIFUPE.js.map
