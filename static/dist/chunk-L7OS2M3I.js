import{a as h,b as i,c as r}from"./chunk-L22S4VAV.js";import{M as w,N as g,u as m,v as d,w as $,x as p,z as a}from"./chunk-4FIWMTQG.js";function L({title:n,messages:o}){let t=[],e=[`# ${r(n||"Untitled")}`,...o.map(c=>y(c,t))],s=t.map((c,u)=>`[image-${u+1}]: ${c}`);return`${[...e,s.join(`
`)].filter(Boolean).join(`

`)}
`}var Q=({parts:n})=>x(n,o=>o.type==="text"?o.text:p(o)&&(E(o)||T(o))),x=(n,o)=>n.map(o).filter(Boolean).join(`

`);function y(n,o){let t=x(n.parts,e=>(F[e.type]??B)(e,o));return[n.role==="user"?"## You":"## Assistant",t,A(n)].filter(Boolean).join(`

`)}function A({ended:n,error:o,finishReason:t}){return o?i(`Failed: ${r(o.message)}`):n?i(`Not finished: ${r(n.reason)}`):Object.hasOwn(a,t)?i(a[t]):""}var B=()=>"",F={text:({text:n})=>n,reasoning:({text:n})=>i(`Thought: ${n}`),image({image:n,alt:o},t){return t.push(n),`![${r(o||"Image")}][image-${t.length}]`},"tool-call":n=>E(n)||T(n)};function E(n){return n.toolName===d&&n.state==="shown"?M(n.result??n.args??{}):n.toolName===$?S(n):""}function M(n){let o=w(n);return o?h(o.component,o.props):""}function S({args:n,state:o,result:t}){let{value:e,values:s,date:c,start:u,end:N,answers:f,cancelled:O}=t??{},b=f&&g(f,n?.fields),k=s??[e??c??b??(u&&`${u} to ${N}`)],v=o==="result"&&!O?k.filter(l=>l!==void 0).map(l=>r(String(l))).join(", "):"not answered";return i(`${r(n?.prompt??"Question")}: ${v||"nothing"}`)}function T({toolName:n,argsText:o,state:t,result:e}){let s=e===void 0?[]:[j(m(e))];return[`**Tool ${r(n)}** (${r(t)})`,j(o||"{}"),...s].join(`

`)}function j(n){let o=(n.match(/`+/g)??[]).reduce((e,{length:s})=>Math.max(e,s),2),t="`".repeat(o+1);return`${t}json
${n}
${t}`}export{L as a,Q as b};
//# sourceMappingURL=chunk-L7OS2M3I.js.map
