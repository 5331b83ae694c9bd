import{G as $,H as g,r as u,s as p,t as d,u as j,w as m}from"./chunk-WIB6F4HW.js";function z({title:n,messages:t}){let e=[],r=[`# ${s(n||"Untitled")}`,...t.map(i=>E(i,e))],o=e.map((i,c)=>`[image-${c+1}]: ${i}`);return`${[...r,o.join(`
`)].filter(Boolean).join(`

`)}
`}var G=({parts:n})=>w(n,t=>t.type==="text"?t.text:j(t)&&(x(t)||_(t))),w=(n,t)=>n.map(t).filter(Boolean).join(`

`);function E(n,t){let e=w(n.parts,r=>(F[r.type]??k)(r,t));return[n.role==="user"?"## You":"## Assistant",e,B(n)].filter(Boolean).join(`

`)}function B({ended:n,error:t,finishReason:e}){return t?l(`Failed: ${s(t.message)}`):n?l(`Not finished: ${s(n.reason)}`):Object.hasOwn(m,e)?l(m[e]):""}var k=()=>"",F={text:({text:n})=>n,reasoning:({text:n})=>l(`Thought: ${n}`),image({image:n,alt:t},e){return e.push(n),`![${s(t||"Image")}][image-${e.length}]`},"tool-call":n=>x(n)||_(n)};function x(n){return n.toolName===p&&n.state==="shown"?M(n.result??n.args??{}):n.toolName===d?I(n):""}function M({component:n,props:t}){let e=g(n,t);if(!e)return"";let r=e.title?`**${s(e.title)}**`:"",o=Object.hasOwn(y,n)?y[n](e):q(e);return[r,o].filter(Boolean).join(`

`)}var R=n=>typeof n=="object"&&n!==null&&!Array.isArray(n),h=n=>Array.isArray(n)&&n.length>0&&n.every(R);function q({title:n,...t}){let e=Object.entries(t).filter(([,i])=>i!=null),r=e.filter(([,i])=>!h(i)).map(([i,c])=>`- ${s(i)}: ${s(A(c))}`),o=e.filter(([,i])=>h(i)).map(([i,c])=>`${s(i)}:

${D(c)}`);return[r.join(`
`),...o].filter(Boolean).join(`

`)}function D(n){let t=[...new Set(n.flatMap(Object.keys))],e=(o,i)=>Object.hasOwn(o,i)?o[i]:null,r=o=>typeof o=="object"&&o!==null?A(o):o;return a([t,...n.map(o=>t.map(i=>r(e(o,i))))])}function A(n){return Array.isArray(n)&&!n.some(t=>typeof t=="object")?n.join(", "):typeof n=="object"?JSON.stringify(n):String(n)}var b=(n,t,e)=>[[n,...e.map($)],...t.map((r,o)=>[r,...e.map(({data:i})=>i[o])])],y={line_chart:({x:n,series:t,x_label:e})=>a(b(e??"x",n,t)),bar_chart:({categories:n,series:t,x_label:e})=>a(b(e??"Category",n,t)),table:({columns:n,rows:t})=>a([n.map(({key:e,label:r})=>r??e),...t.map(e=>n.map(({key:r})=>Object.hasOwn(e,r)?e[r]:null))]),metric_cards:({cards:n})=>a([["Figure","Value","Change"],...n.map(({label:t,value:e,unit:r,delta:o})=>[t,[e,r].filter(i=>i||i===0).join(" "),o])]),report:({markdown:n})=>n,alert:({message:n})=>l(s(n))};function I({args:n,state:t,result:e}){let{value:r,values:o,date:i,start:c,end:T,cancelled:N}=e??{},S=o??[r??i??(c&&`${c} to ${T}`)],C=t==="result"&&!N?S.filter(f=>f!==void 0).map(f=>s(String(f))).join(", "):"not answered";return l(`${s(n?.prompt??"Question")}: ${C||"nothing"}`)}function _({toolName:n,argsText:t,state:e,result:r}){let o=r===void 0?[]:[O(u(r))];return[`**Tool ${s(n)}** (${s(e)})`,O(t||"{}"),...o].join(`

`)}function O(n){let t=(n.match(/`+/g)??[]).reduce((r,{length:o})=>Math.max(r,o),2),e="`".repeat(t+1);return`${e}json
${n}
${e}`}var l=n=>n.replace(/^/gm,"> ");function a([n,...t]){let e=n.map((o,i)=>t.length>0&&t.every(c=>c[i]===null||typeof c[i]=="number")),r=o=>`| ${o.map(J).join(" | ")} |`;return[r(n),`|${e.map(o=>o?" ---: ":" --- ").join("|")}|`,...t.map(r)].join(`
`)}var J=n=>n==null?"":s(String(n)),s=n=>n.replace(/\s+/g," ").trim().replace(/[\\`*_[\]<>|#~&]/g,"\\$&");export{z as a,G as b,q as c};
//# sourceMappingURL=chunk-3N3ONOWK.js.map
