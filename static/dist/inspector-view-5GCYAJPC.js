import{a as w}from"./chunk-HB7JHYKV.js";import{C as f,E as v,H as x,J as p,T as d,d as s,e as g,h as m,x as n,z as i}from"./chunk-HLNBHP72.js";function k({problem:t,found:e}){if(t)return n`<p class="muted">${t}</p>`;if(!e)return n`<p class="muted">${s("Loading\u2026")}</p>`;let{graph:a,drawing:r,state:l,checkpoints:c,calls:o}=e;return n`
    ${u(s("Graph {name}, in Mermaid's language",{name:a}),J(r),!0)}
    ${l?u(s("State"),h(l)):i}
    ${c?u(s("Checkpoints, the newest first ({count})",{count:c.length}),h(c)):i}
    ${o?.length===0?n`<p class="muted">${s("No model was called yet.")}</p>`:i}
    ${(o??[]).map(C)}
  `}var C=({node:t,model:e,ms:a,request:r,response:l,error:c},o)=>{let $=[s("Model call {number}",{number:o+1}),t,e,a===void 0?"":s("{count} ms",{count:a})],N={request:r,...c?{error:c}:{response:l}};return u($.filter(Boolean).join(" \xB7 "),h(N))},u=(t,e,a=!1)=>n`
  <details class="inspected" ?open=${a}>
    <summary>${t}</summary>
    ${e}
  </details>
`,J=t=>n`<pre tabindex="0" role="group" aria-label=${s("Text")}>${t}</pre>`,h=t=>n`
  <pre
    tabindex="0"
    role="group"
    aria-label=${s("JSON")}
  ><code ${d(p(t),"json")}></code></pre>
`;await w("inspector");var S=["step-start","part-start","text-delta","tool-call-args-text-finish","result","part-finish","step-finish","data","error","message-finish","[DONE]"],b=300;function U(t,e,a){let{development:r,inspected:l}=e;return n`
    ${O(t,a)} ${r?q(l,a):i}
    ${l?n`<div
            class="inspector-list"
            tabindex="0"
            role="region"
            aria-label=${s("Graph and thread")}
          >
            ${k(l)}
          </div>`:E(t,e,a)}
  `}var O=(t,e)=>n`
  <header class="inspector-bar">
    <h2>${s("Events")}</h2>
    <span class="muted"
      >${g(t.entries.length,"{count} event","{count} events")},
      ${m(t.bytes)} B</span
    >
    <button
      type="button"
      class="icon-button"
      aria-label=${s("Close the inspector")}
      @click=${e.onClose}
    >
      ${v.cross}
    </button>
  </header>
`,q=(t,{onEvents:e,onInspect:a})=>n`
  <div class="inspector-tools">
    <button type="button" class="quiet" aria-pressed=${String(!t)} @click=${e}>
      ${s("Events")}
    </button>
    <button
      type="button"
      class="quiet"
      aria-pressed=${String(!!t)}
      @click=${a}
    >
      ${s("Graph and thread")}
    </button>
  </div>
`;function E(t,{filter:e,opened:a},r){let l=e?t.entries.filter(({kind:o,type:$})=>o==="request"||T($,e)):t.entries,c=l.slice(-b);return n`
    <div class="inspector-tools">
      <label>
        <span class="visually-hidden">${s("Show")}</span>
        <select @change=${o=>r.onFilter(o.currentTarget.value)}>
          <option value="" ?selected=${!e}>${s("All chunks")}</option>
          <option value="!text-delta" ?selected=${e==="!text-delta"}>
            ${s("All but text-delta")}
          </option>
          ${S.map(o=>n`<option value=${o} ?selected=${e===o}>${o}</option>`)}
        </select>
      </label>
      <button type="button" class="quiet" @click=${r.onClear}>${s("Clear")}</button>
    </div>
    <div class="inspector-list" tabindex="0" role="region" aria-label=${s("Events of the stream")}>
      ${t.entries.length?i:n`<p class="muted">${s("Send a message to see its events come in.")}</p>`}
      ${l.length>b?n`<p class="muted">${V(l.length)}</p>`:i}
      <ol>
        ${f(c,({number:o})=>o,o=>j(o,a.has(o.number),r))}
      </ol>
    </div>
  `}var T=(t,e)=>e.startsWith("!")?t!==e.slice(1):t===e,j=(t,e,a)=>n`
  <li class="event ${t.kind}">
    <button type="button" aria-expanded=${e} @click=${()=>a.onToggle(t.number)}>
      <span class="event-ms"
        >${t.kind==="request"?s("sent"):`+${Math.round(t.ms)}`}</span
      >
      <span class="event-id" title=${t.id}>${B(t.id)}</span>
      <span
        class="event-type t-${S.includes(t.type)?t.type.replace(/\W/g,""):"unknown"}"
        >${t.type}</span
      >
      <span class="event-data">${e?i:G(t)}</span>
    </button>
    ${e?n`${t.id?n`<p class="event-whole-id">id: ${t.id}</p>`:i}
            <pre
              tabindex="0"
              role="group"
              aria-label=${s("JSON")}
            ><code ${d(M(t.data),"json")}></code></pre>`:i}
  </li>
`,B=t=>t?`#${t.slice(t.lastIndexOf(":")+1)}`:"";function G({type:t,data:e}){return t==="text-delta"?x(JSON.parse(e).textDelta.slice(0,120)):e.replace(/^\{"type":"[\w-]+",?/,"").replace(/,?"path":\[\]\}$/,"").slice(0,120)}function M(t){try{return p(JSON.parse(t))}catch{return t}}var V=t=>s("The last {shown} of {count}.",{shown:b,count:m(t)});export{U as inspectorView};
//# sourceMappingURL=inspector-view-5GCYAJPC.js.map
