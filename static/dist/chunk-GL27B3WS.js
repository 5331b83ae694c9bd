import{a as k,b as u,c as i}from"./chunk-SHWTQ7BJ.js";import{J as p,K as a,L as h,M as g,N as j,O,d as s,na as d,oa as B,p as m,pa as x,q as w,qa as E}from"./chunk-HLNBHP72.js";function P({title:n,messages:o}){let e=[],r=[`# ${i(n||s("Untitled"))}`,...o.map(c=>C(c,e))],t=e.map((c,f)=>`[image-${f+1}]: ${c}`);return`${[...r,t.join(`
`)].filter(Boolean).join(`

`)}
`}var X=({parts:n})=>y(n,o=>o.type==="text"?o.text:O(o)&&(A(o)||N(o)));function q({parts:n}){let o=n.filter(({type:t})=>t==="source"),r=[...new Map(o.map(({url:t,title:c})=>[t,i(c||t)]))].map(([t,c],f)=>a(t)?`${f+1}. [${c}](<${a(t)}>)`:`${f+1}. ${c}`);return r.length?[s("Sources"),...r].join(`
`):""}var y=(n,o)=>n.map(o).filter(Boolean).join(`

`);function C(n,o){let e=y(n.parts,t=>(L[t.type]??I)(t,o));return[`## ${n.role==="user"?s("You"):s("Assistant")}`,e,q(n),D(n)].filter(Boolean).join(`

`)}function D({ended:n,error:o,finishReason:e}){return o?u(`${s("Failed:")} ${i(w(o))}`):n?u(`${s("Not finished:")} ${i(n.reason)}`):Object.hasOwn(m,e)?u(m[e]):""}var I=()=>"",L={text:({text:n})=>n,reasoning:({text:n})=>u(`${s("Thought:")} ${n}`),image({image:n,alt:o},e){return e.push(n),`![${i(o||s("Image"))}][image-${e.length}]`},"tool-call":n=>A(n)||N(n)};function A(n){return n.toolName===h&&n.state==="shown"?M(d(n)??{}):j(n)?U(n):n.toolName===g?J(n):""}function M(n){let o=B(n);if(!o)return"";let e=typeof n.note=="string"?u(i(n.note)):"";return[k(o.component,o.props),e].filter(Boolean).join(`

`)}function U(n){if(!["shown","pending","result"].includes(n.state))return"";let o=M(d(n));if(!o||n.disposition!=="client")return o;let e=n.state==="result"?E(n.result):s("not answered");return`${o}

${u(`${s("Answer:")} ${i(e)}`)}`}function J({args:n,state:o,result:e}){let{value:r,values:t,date:c,start:f,end:S,answers:$,cancelled:b}=e??{},v=$&&x($,n?.fields),F=t??[r??c??v??(f&&s("{start} to {end}",{start:f,end:S}))],W=o==="result"&&!b?F.filter(l=>l!==void 0).map(l=>i(String(l))).join(", "):s("not answered");return u(`${i(n?.prompt??s("Question"))}: ${W||s("nothing")}`)}function N({toolName:n,argsText:o,state:e,result:r}){let t=r===void 0?[]:[T(p(r))];return[`**${s("Tool {name}",{name:i(n)})}** (${i(e)})`,T(o||"{}"),...t].join(`

`)}function T(n){let o=(n.match(/`+/g)??[]).reduce((r,{length:t})=>Math.max(r,t),2),e="`".repeat(o+1);return`${e}json
${n}
${e}`}export{P as a,X as b};
//# sourceMappingURL=chunk-GL27B3WS.js.map
