import{a as p,b as i,c as r}from"./chunk-EKHJDHK6.js";import{K as h,t as m,u as f,v as d,w as $,y as a}from"./chunk-GWMYNMB6.js";function I({title:n,messages:o}){let t=[],e=[`# ${r(n||"Untitled")}`,...o.map(c=>b(c,t))],s=t.map((c,u)=>`[image-${u+1}]: ${c}`);return`${[...e,s.join(`
`)].filter(Boolean).join(`

`)}
`}var U=({parts:n})=>w(n,o=>o.type==="text"?o.text:$(o)&&(j(o)||x(o))),w=(n,o)=>n.map(o).filter(Boolean).join(`

`);function b(n,o){let t=w(n.parts,e=>(y[e.type]??v)(e,o));return[n.role==="user"?"## You":"## Assistant",t,k(n)].filter(Boolean).join(`

`)}function k({ended:n,error:o,finishReason:t}){return o?i(`Failed: ${r(o.message)}`):n?i(`Not finished: ${r(n.reason)}`):Object.hasOwn(a,t)?i(a[t]):""}var v=()=>"",y={text:({text:n})=>n,reasoning:({text:n})=>i(`Thought: ${n}`),image({image:n,alt:o},t){return t.push(n),`![${r(o||"Image")}][image-${t.length}]`},"tool-call":n=>j(n)||x(n)};function j(n){return n.toolName===f&&n.state==="shown"?A(n.result??n.args??{}):n.toolName===d?B(n):""}function A(n){let o=h(n);return o?p(o.component,o.props):""}function B({args:n,state:o,result:t}){let{value:e,values:s,date:c,start:u,end:E,cancelled:T}=t??{},N=s??[e??c??(u&&`${u} to ${E}`)],O=o==="result"&&!T?N.filter(l=>l!==void 0).map(l=>r(String(l))).join(", "):"not answered";return i(`${r(n?.prompt??"Question")}: ${O||"nothing"}`)}function x({toolName:n,argsText:o,state:t,result:e}){let s=e===void 0?[]:[g(m(e))];return[`**Tool ${r(n)}** (${r(t)})`,g(o||"{}"),...s].join(`

`)}function g(n){let o=(n.match(/`+/g)??[]).reduce((e,{length:s})=>Math.max(e,s),2),t="`".repeat(o+1);return`${t}json
${n}
${t}`}export{I as a,U as b};
//# sourceMappingURL=chunk-CAQUDRWG.js.map
