import{C as h,H as $,U as d,W as u,d as s,o as c,va as f,x as a,z as p}from"./chunk-HLNBHP72.js";function M(r,e,t){let{threads:o,cursor:n,loading:i,failure:m}=r;return m?a`<p class="threads-note">${m}</p>`:o.length?a`
    <h3>${s("Found")}</h3>
    <ul aria-busy=${String(i)}>
      ${h(o,({id:l})=>l,l=>b(l,e,t))}
    </ul>
    ${n?a`<button type="button" class="quiet more" @click=${t.onMoreFound}>
            ${s("Show more threads")}
          </button>`:p}
  `:a`<p class="threads-note">
      ${i?s("Searching\u2026"):s("No thread has these words.")}
    </p>`}var b=({id:r,title:e,found:t,archived:o,updated_at:n},i,m)=>a`
  <li class="found ${r===i?"open":""}">
    <a
      href=${u(r,null,t.message_id??null)}
      data-thread=${r}
      aria-current=${r===i?"page":p}
      @click=${l=>m.onOpen(l,r,k(t))}
    >
      <span class="thread-name">
        <span class="thread-title">${e?g(t.title,d):s("Untitled")}</span>
        ${t.text?a`<span class="thread-excerpt">${g(t.text,$)}</span>`:p}
        <time class="thread-told" datetime=${n} title=${c(n)}
          >${f(n)}${o?", archived":""}</time
        >
      </span>
    </a>
  </li>
`,k=({text:r,message_id:e})=>e?{message:e,words:r.filter(({is_match:t})=>t).map(t=>t.text),text:r.map(t=>t.text).join("")}:null,g=(r,e)=>r.map(({text:t,is_match:o})=>o?a`<mark>${e(t)}</mark>`:e(t));export{M as foundView};
//# sourceMappingURL=search-view-2Y65V5JS.js.map
