import{a as b}from"./chunk-FKH3X2BJ.js";import{a as r,d as p,h as a,j as n,l as d,n as u,q as $,r as m,z as h}from"./chunk-2BYEGEG2.js";await b("inspector");var v=["step-start","part-start","text-delta","tool-call-args-text-finish","result","part-finish","step-finish","data","error","message-finish","[DONE]"],c=300;function A(e,{filter:t,opened:l},o){let i=t?e.entries.filter(({kind:s,type:f})=>s==="request"||x(f,t)):e.entries,g=i.slice(-c);return a`
    <header class="inspector-bar">
      <h2>Events</h2>
      <span class="muted"
        >${p(e.entries.length,"event")}, ${r(e.bytes)} B</span
      >
      <button
        type="button"
        class="icon-button"
        aria-label="Close the inspector"
        @click=${o.onClose}
      >
        ${u.cross}
      </button>
    </header>
    <div class="inspector-tools">
      <label>
        <span class="visually-hidden">Show</span>
        <select @change=${s=>o.onFilter(s.currentTarget.value)}>
          <option value="" ?selected=${!t}>All chunks</option>
          <option value="!text-delta" ?selected=${t==="!text-delta"}>
            All but text-delta
          </option>
          ${v.map(s=>a`<option value=${s} ?selected=${t===s}>${s}</option>`)}
        </select>
      </label>
      <button type="button" class="quiet" @click=${o.onClear}>Clear</button>
    </div>
    <div class="inspector-list" tabindex="0" role="region" aria-label="Events of the stream">
      ${e.entries.length?n:a`<p class="muted">Send a message to see its events come in.</p>`}
      ${i.length>c?a`<p class="muted">The last ${c} of ${r(i.length)}.</p>`:n}
      <ol>
        ${d(g,({number:s})=>s,s=>w(s,l.has(s.number),o))}
      </ol>
    </div>
  `}var x=(e,t)=>t.startsWith("!")?e!==t.slice(1):e===t,w=(e,t,l)=>a`
  <li class="event ${e.kind}">
    <button type="button" aria-expanded=${t} @click=${()=>l.onToggle(e.number)}>
      <span class="event-ms"
        >${e.kind==="request"?"sent":`+${Math.round(e.ms)}`}</span
      >
      <span class="event-id" title=${e.id}>${k(e.id)}</span>
      <span
        class="event-type t-${v.includes(e.type)?e.type.replace(/\W/g,""):"unknown"}"
        >${e.type}</span
      >
      <span class="event-data">${t?n:S(e)}</span>
    </button>
    ${t?a`${e.id?a`<p class="event-whole-id">id: ${e.id}</p>`:n}
            <pre
              tabindex="0"
              role="region"
              aria-label="JSON"
            ><code ${h(N(e.data),"json")}></code></pre>`:n}
  </li>
`,k=e=>e?`#${e.slice(e.lastIndexOf(":")+1)}`:"";function S({type:e,data:t}){return e==="text-delta"?$(JSON.parse(t).textDelta.slice(0,120)):t.replace(/^\{"type":"[\w-]+",?/,"").replace(/,?"path":\[\]\}$/,"").slice(0,120)}function N(e){try{return m(JSON.parse(e))}catch{return e}}export{A as inspectorView};
//# sourceMappingURL=inspector-view-RMWW3ZMK.js.map
