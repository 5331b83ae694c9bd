import{a as g,b as r,c as s}from"./chunk-BG227MII.js";import{A as l,N as d,O as j,P as x,Q as B,u as a,v as $,w,x as h,y as p}from"./chunk-SNKA6PWK.js";function Y({title:n,messages:o}){let e=[],t=[`# ${s(n||"Untitled")}`,...o.map(c=>M(c,e))],i=e.map((c,u)=>`[image-${u+1}]: ${c}`);return`${[...t,i.join(`
`)].filter(Boolean).join(`

`)}
`}var _=({parts:n})=>E(n,o=>o.type==="text"?o.text:p(o)&&(T(o)||A(o))),E=(n,o)=>n.map(o).filter(Boolean).join(`

`);function M(n,o){let e=E(n.parts,t=>(q[t.type]??W)(t,o));return[n.role==="user"?"## You":"## Assistant",e,S(n)].filter(Boolean).join(`

`)}function S({ended:n,error:o,finishReason:e}){return o?r(`Failed: ${s(o.message)}`):n?r(`Not finished: ${s(n.reason)}`):Object.hasOwn(l,e)?r(l[e]):""}var W=()=>"",q={text:({text:n})=>n,reasoning:({text:n})=>r(`Thought: ${n}`),image({image:n,alt:o},e){return e.push(n),`![${s(o||"Image")}][image-${e.length}]`},"tool-call":n=>T(n)||A(n)};function T(n){return n.toolName===$&&n.state==="shown"?y(d(n)??{}):h(n)?C(n):n.toolName===w?D(n):""}function y(n){let o=j(n);if(!o)return"";let e=typeof n.note=="string"?r(s(n.note)):"";return[g(o.component,o.props),e].filter(Boolean).join(`

`)}function C(n){if(!["shown","pending","result"].includes(n.state))return"";let o=y(d(n));if(!o||n.disposition!=="client")return o;let e=n.state==="result"?B(n.result):"not answered";return`${o}

${r(`Answer: ${s(e)}`)}`}function D({args:n,state:o,result:e}){let{value:t,values:i,date:c,start:u,end:N,answers:m,cancelled:b}=e??{},k=m&&x(m,n?.fields),v=i??[t??c??k??(u&&`${u} to ${N}`)],F=o==="result"&&!b?v.filter(f=>f!==void 0).map(f=>s(String(f))).join(", "):"not answered";return r(`${s(n?.prompt??"Question")}: ${F||"nothing"}`)}function A({toolName:n,argsText:o,state:e,result:t}){let i=t===void 0?[]:[O(a(t))];return[`**Tool ${s(n)}** (${s(e)})`,O(o||"{}"),...i].join(`

`)}function O(n){let o=(n.match(/`+/g)??[]).reduce((t,{length:i})=>Math.max(t,i),2),e="`".repeat(o+1);return`${e}json
${n}
${e}`}export{Y as a,_ as b};
//# sourceMappingURL=chunk-PZ2ZI6WR.js.map
