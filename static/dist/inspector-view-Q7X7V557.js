import{a as x}from"./chunk-YPCLCISO.js";import{D as p,a as $,d as b,j as s,l,n as g,p as v,s as f,u as c}from"./chunk-SNKA6PWK.js";function w({problem:e,found:t}){if(e)return s`<p class="muted">${e}</p>`;if(!t)return s`<p class="muted">Loading…</p>`;let{graph:a,drawing:i,state:o,checkpoints:r,calls:n}=t;return s`
    ${d(`Graph ${a}, in Mermaid's language`,C(i),!0)}
    ${o?d("State",m(o)):l}
    ${r?d(`Checkpoints, the newest first (${r.length})`,m(r)):l}
    ${n?.length===0?s`<p class="muted">No model was called yet.</p>`:l}
    ${(n??[]).map(N)}
  `}var N=({node:e,model:t,ms:a,request:i,response:o,error:r},n)=>{let u=[`Model call ${n+1}`,e,t,a===void 0?"":`${a} ms`],S={request:i,...r?{error:r}:{response:o}};return d(u.filter(Boolean).join(" \xB7 "),m(S))},d=(e,t,a=!1)=>s`
  <details class="inspected" ?open=${a}>
    <summary>${e}</summary>
    ${t}
  </details>
`,C=e=>s`<pre tabindex="0" role="region" aria-label="Text">${e}</pre>`,m=e=>s`
  <pre
    tabindex="0"
    role="region"
    aria-label="JSON"
  ><code ${p(c(e),"json")}></code></pre>
`;await x("inspector");var k=["step-start","part-start","text-delta","tool-call-args-text-finish","result","part-finish","step-finish","data","error","message-finish","[DONE]"],h=300;function z(e,t,a){let{development:i,inspected:o}=t;return s`
    ${J(e,a)} ${i?q(o,a):l}
    ${o?s`<div class="inspector-list" tabindex="0" role="region" aria-label="Graph and thread">
            ${w(o)}
          </div>`:E(e,t,a)}
  `}var J=(e,t)=>s`
  <header class="inspector-bar">
    <h2>Events</h2>
    <span class="muted"
      >${b(e.entries.length,"event")}, ${$(e.bytes)} B</span
    >
    <button
      type="button"
      class="icon-button"
      aria-label="Close the inspector"
      @click=${t.onClose}
    >
      ${v.cross}
    </button>
  </header>
`,q=(e,{onEvents:t,onInspect:a})=>s`
  <div class="inspector-tools">
    <button type="button" class="quiet" aria-pressed=${String(!e)} @click=${t}>
      Events
    </button>
    <button
      type="button"
      class="quiet"
      aria-pressed=${String(!!e)}
      @click=${a}
    >
      Graph and thread
    </button>
  </div>
`;function E(e,{filter:t,opened:a},i){let o=t?e.entries.filter(({kind:n,type:u})=>n==="request"||O(u,t)):e.entries,r=o.slice(-h);return s`
    <div class="inspector-tools">
      <label>
        <span class="visually-hidden">Show</span>
        <select @change=${n=>i.onFilter(n.currentTarget.value)}>
          <option value="" ?selected=${!t}>All chunks</option>
          <option value="!text-delta" ?selected=${t==="!text-delta"}>
            All but text-delta
          </option>
          ${k.map(n=>s`<option value=${n} ?selected=${t===n}>${n}</option>`)}
        </select>
      </label>
      <button type="button" class="quiet" @click=${i.onClear}>Clear</button>
    </div>
    <div class="inspector-list" tabindex="0" role="region" aria-label="Events of the stream">
      ${e.entries.length?l:s`<p class="muted">Send a message to see its events come in.</p>`}
      ${o.length>h?s`<p class="muted">The last ${h} of ${$(o.length)}.</p>`:l}
      <ol>
        ${g(r,({number:n})=>n,n=>T(n,a.has(n.number),i))}
      </ol>
    </div>
  `}var O=(e,t)=>t.startsWith("!")?e!==t.slice(1):e===t,T=(e,t,a)=>s`
  <li class="event ${e.kind}">
    <button type="button" aria-expanded=${t} @click=${()=>a.onToggle(e.number)}>
      <span class="event-ms"
        >${e.kind==="request"?"sent":`+${Math.round(e.ms)}`}</span
      >
      <span class="event-id" title=${e.id}>${j(e.id)}</span>
      <span
        class="event-type t-${k.includes(e.type)?e.type.replace(/\W/g,""):"unknown"}"
        >${e.type}</span
      >
      <span class="event-data">${t?l:B(e)}</span>
    </button>
    ${t?s`${e.id?s`<p class="event-whole-id">id: ${e.id}</p>`:l}
            <pre
              tabindex="0"
              role="region"
              aria-label="JSON"
            ><code ${p(G(e.data),"json")}></code></pre>`:l}
  </li>
`,j=e=>e?`#${e.slice(e.lastIndexOf(":")+1)}`:"";function B({type:e,data:t}){return e==="text-delta"?f(JSON.parse(t).textDelta.slice(0,120)):t.replace(/^\{"type":"[\w-]+",?/,"").replace(/,?"path":\[\]\}$/,"").slice(0,120)}function G(e){try{return c(JSON.parse(e))}catch{return e}}export{z as inspectorView};
//# sourceMappingURL=inspector-view-Q7X7V557.js.map
