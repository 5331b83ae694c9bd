import{a as O,b as u,c as i}from"./chunk-X4GYEZLE.js";import{A as m,B as p,C as h,D as g,E as j,G as a,S as d,T as k,U as B,V as x,b as s,z as w}from"./chunk-TMD7C2X4.js";function K({title:n,messages:o}){let e=[],r=[`# ${i(n||s("Untitled"))}`,...o.map(c=>q(c,e))],t=e.map((c,f)=>`[image-${f+1}]: ${c}`);return`${[...r,t.join(`
`)].filter(Boolean).join(`

`)}
`}var P=({parts:n})=>T(n,o=>o.type==="text"?o.text:j(o)&&(y(o)||M(o)));function W({parts:n}){let o=n.filter(({type:t})=>t==="source"),r=[...new Map(o.map(({url:t,title:c})=>[t,i(c||t)]))].map(([t,c],f)=>m(t)?`${f+1}. [${c}](<${m(t)}>)`:`${f+1}. ${c}`);return r.length?[s("Sources"),...r].join(`
`):""}var T=(n,o)=>n.map(o).filter(Boolean).join(`

`);function q(n,o){let e=T(n.parts,t=>(I[t.type]??D)(t,o));return[`## ${n.role==="user"?s("You"):s("Assistant")}`,e,W(n),C(n)].filter(Boolean).join(`

`)}function C({ended:n,error:o,finishReason:e}){return o?u(`${s("Failed:")} ${i(o.message)}`):n?u(`${s("Not finished:")} ${i(n.reason)}`):Object.hasOwn(a,e)?u(a[e]):""}var D=()=>"",I={text:({text:n})=>n,reasoning:({text:n})=>u(`${s("Thought:")} ${n}`),image({image:n,alt:o},e){return e.push(n),`![${i(o||s("Image"))}][image-${e.length}]`},"tool-call":n=>y(n)||M(n)};function y(n){return n.toolName===p&&n.state==="shown"?A(d(n)??{}):g(n)?L(n):n.toolName===h?U(n):""}function A(n){let o=k(n);if(!o)return"";let e=typeof n.note=="string"?u(i(n.note)):"";return[O(o.component,o.props),e].filter(Boolean).join(`

`)}function L(n){if(!["shown","pending","result"].includes(n.state))return"";let o=A(d(n));if(!o||n.disposition!=="client")return o;let e=n.state==="result"?x(n.result):s("not answered");return`${o}

${u(`${s("Answer:")} ${i(e)}`)}`}function U({args:n,state:o,result:e}){let{value:r,values:t,date:c,start:f,end:N,answers:$,cancelled:S}=e??{},b=$&&B($,n?.fields),v=t??[r??c??b??(f&&s("{start} to {end}",{start:f,end:N}))],F=o==="result"&&!S?v.filter(l=>l!==void 0).map(l=>i(String(l))).join(", "):s("not answered");return u(`${i(n?.prompt??s("Question"))}: ${F||s("nothing")}`)}function M({toolName:n,argsText:o,state:e,result:r}){let t=r===void 0?[]:[E(w(r))];return[`**${s("Tool {name}",{name:i(n)})}** (${i(e)})`,E(o||"{}"),...t].join(`

`)}function E(n){let o=(n.match(/`+/g)??[]).reduce((r,{length:t})=>Math.max(r,t),2),e="`".repeat(o+1);return`${e}json
${n}
${e}`}export{K as a,P as b};
//# sourceMappingURL=chunk-B743NLS3.js.map
