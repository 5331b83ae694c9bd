import{a as w}from"./chunk-HB7JHYKV.js";import{I as d,b as s,c as g,f as m,o as n,q as i,s as f,u as v,x,z as p}from"./chunk-SPHVST4F.js";function k({problem:e,found:t}){if(e)return n`<p class="muted">${e}</p>`;if(!t)return n`<p class="muted">${s("Loading\u2026")}</p>`;let{graph:a,drawing:r,state:l,checkpoints:c,calls:o}=t;return n`
    ${u(s("Graph {name}, in Mermaid's language",{name:a}),J(r),!0)}
    ${l?u(s("State"),h(l)):i}
    ${c?u(s("Checkpoints, the newest first ({count})",{count:c.length}),h(c)):i}
    ${o?.length===0?n`<p class="muted">${s("No model was called yet.")}</p>`:i}
    ${(o??[]).map(C)}
  `}var C=({node:e,model:t,ms:a,request:r,response:l,error:c},o)=>{let $=[s("Model call {number}",{number:o+1}),e,t,a===void 0?"":s("{count} ms",{count:a})],N={request:r,...c?{error:c}:{response:l}};return u($.filter(Boolean).join(" \xB7 "),h(N))},u=(e,t,a=!1)=>n`
  <details class="inspected" ?open=${a}>
    <summary>${e}</summary>
    ${t}
  </details>
`,J=e=>n`<pre tabindex="0" role="region" aria-label=${s("Text")}>${e}</pre>`,h=e=>n`
  <pre
    tabindex="0"
    role="region"
    aria-label=${s("JSON")}
  ><code ${d(p(e),"json")}></code></pre>
`;await w("inspector");var S=["step-start","part-start","text-delta","tool-call-args-text-finish","result","part-finish","step-finish","data","error","message-finish","[DONE]"],b=300;function U(e,t,a){let{development:r,inspected:l}=t;return n`
    ${O(e,a)} ${r?q(l,a):i}
    ${l?n`<div
            class="inspector-list"
            tabindex="0"
            role="region"
            aria-label=${s("Graph and thread")}
          >
            ${k(l)}
          </div>`:E(e,t,a)}
  `}var O=(e,t)=>n`
  <header class="inspector-bar">
    <h2>${s("Events")}</h2>
    <span class="muted"
      >${g(e.entries.length,"{count} event","{count} events")},
      ${m(e.bytes)} B</span
    >
    <button
      type="button"
      class="icon-button"
      aria-label=${s("Close the inspector")}
      @click=${t.onClose}
    >
      ${v.cross}
    </button>
  </header>
`,q=(e,{onEvents:t,onInspect:a})=>n`
  <div class="inspector-tools">
    <button type="button" class="quiet" aria-pressed=${String(!e)} @click=${t}>
      ${s("Events")}
    </button>
    <button
      type="button"
      class="quiet"
      aria-pressed=${String(!!e)}
      @click=${a}
    >
      ${s("Graph and thread")}
    </button>
  </div>
`;function E(e,{filter:t,opened:a},r){let l=t?e.entries.filter(({kind:o,type:$})=>o==="request"||T($,t)):e.entries,c=l.slice(-b);return n`
    <div class="inspector-tools">
      <label>
        <span class="visually-hidden">${s("Show")}</span>
        <select @change=${o=>r.onFilter(o.currentTarget.value)}>
          <option value="" ?selected=${!t}>${s("All chunks")}</option>
          <option value="!text-delta" ?selected=${t==="!text-delta"}>
            ${s("All but text-delta")}
          </option>
          ${S.map(o=>n`<option value=${o} ?selected=${t===o}>${o}</option>`)}
        </select>
      </label>
      <button type="button" class="quiet" @click=${r.onClear}>${s("Clear")}</button>
    </div>
    <div class="inspector-list" tabindex="0" role="region" aria-label=${s("Events of the stream")}>
      ${e.entries.length?i:n`<p class="muted">${s("Send a message to see its events come in.")}</p>`}
      ${l.length>b?n`<p class="muted">${V(l.length)}</p>`:i}
      <ol>
        ${f(c,({number:o})=>o,o=>j(o,a.has(o.number),r))}
      </ol>
    </div>
  `}var T=(e,t)=>t.startsWith("!")?e!==t.slice(1):e===t,j=(e,t,a)=>n`
  <li class="event ${e.kind}">
    <button type="button" aria-expanded=${t} @click=${()=>a.onToggle(e.number)}>
      <span class="event-ms"
        >${e.kind==="request"?s("sent"):`+${Math.round(e.ms)}`}</span
      >
      <span class="event-id" title=${e.id}>${B(e.id)}</span>
      <span
        class="event-type t-${S.includes(e.type)?e.type.replace(/\W/g,""):"unknown"}"
        >${e.type}</span
      >
      <span class="event-data">${t?i:G(e)}</span>
    </button>
    ${t?n`${e.id?n`<p class="event-whole-id">id: ${e.id}</p>`:i}
            <pre
              tabindex="0"
              role="region"
              aria-label=${s("JSON")}
            ><code ${d(M(e.data),"json")}></code></pre>`:i}
  </li>
`,B=e=>e?`#${e.slice(e.lastIndexOf(":")+1)}`:"";function G({type:e,data:t}){return e==="text-delta"?x(JSON.parse(t).textDelta.slice(0,120)):t.replace(/^\{"type":"[\w-]+",?/,"").replace(/,?"path":\[\]\}$/,"").slice(0,120)}function M(e){try{return p(JSON.parse(e))}catch{return e}}var V=e=>s("The last {shown} of {count}.",{shown:b,count:m(e)});export{U as inspectorView};
//# sourceMappingURL=inspector-view-OTJDSXGB.js.map
