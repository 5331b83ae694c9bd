import{E as d,G as u,V as $,c as p,j as a,l as m,n as c,s as h}from"./chunk-SNKA6PWK.js";function y(e,r,t){let{threads:o,cursor:s,loading:n,failure:l}=e;return l?a`<p class="threads-note">${l}</p>`:o.length?a`
    <h3>Found</h3>
    <ul aria-busy=${String(n)}>
      ${c(o,({id:i})=>i,i=>g(i,r,t))}
    </ul>
    ${s?a`<button type="button" class="quiet more" @click=${t.onMoreFound}>
            Show more threads
          </button>`:m}
  `:a`<p class="threads-note">
      ${n?"Searching\u2026":"No thread has these words."}
    </p>`}var g=({id:e,title:r,found:t,archived:o,updated_at:s},n,l)=>a`
  <li class="found ${e===n?"open":""}">
    <a
      href=${u(e,null,t.message_id??null)}
      data-thread=${e}
      aria-current=${e===n?"page":m}
      @click=${i=>l.onOpen(i,e,b(t))}
    >
      <span class="thread-name">
        <span class="thread-title">${r?f(t.title,d):"Untitled"}</span>
        ${t.text?a`<span class="thread-excerpt">${f(t.text,h)}</span>`:m}
        <time class="thread-told" datetime=${s} title=${p(s)}
          >${$(s)}${o?", archived":""}</time
        >
      </span>
    </a>
  </li>
`,b=({text:e,message_id:r})=>r?{message:r,words:e.filter(({is_match:t})=>t).map(t=>t.text),text:e.map(t=>t.text).join("")}:null,f=(e,r)=>e.map(({text:t,is_match:o})=>o?a`<mark>${r(t)}</mark>`:r(t));export{y as foundView};
//# sourceMappingURL=search-view-EWARRCK6.js.map
