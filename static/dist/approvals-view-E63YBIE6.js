import{a as f}from"./chunk-HB7JHYKV.js";import{C as v,E as $,d as a,e as m,n as d,ra as h,x as n,z as s}from"./chunk-HLNBHP72.js";await f("inspector");var A=({calls:t,answers:l,loaded:p,failed:c,hasMore:e,told:o},u,r)=>n`
  <header class="inspector-bar">
    <h2>${a("Approvals")}</h2>
    <span class="muted" role="status"
      >${p?_(t.length,e):s}</span
    >
    <button
      type="button"
      class="icon-button"
      aria-label=${a("Close the approvals")}
      @click=${r.onClose}
    >
      ${$.cross}
    </button>
  </header>
  <div
    class="approvals-list"
    tabindex="0"
    role="region"
    aria-label=${a("Calls of others that wait for an approval")}
  >
    <div class="approvals-told" role="status">${o&&!o.isError?o.words:s}</div>
    ${o?.isError?n`<p class="question-failed" role="alert">${$.warning} ${o.words}</p>`:s}
    ${c?n`<p class="muted">
            ${a("The list could not be loaded.")}
            <button type="button" class="link" @click=${r.onReload}>${a("Retry")}</button>
          </p>`:s}
    ${p&&!t.length&&!e&&!c?n`<p class="muted">${a("No call of anybody else waits for your approval.")}</p>`:s}
    ${v(t,({id:i})=>i,i=>k(i,l,u,r))}
    ${e?n`<p class="muted">
            <button type="button" class="link" @click=${r.onMore}>${a("Show more")}</button>
          </p>`:s}
  </div>
`;function k(t,l,p,{onDecide:c}){let{id:e,tool_name:o,args:u,asked_by:r,asked_at:i,expires_at:b}=t,w={tool:p.of(o),answer:l[e],asker:r.name||r.id,since:d(i),until:b&&d(b)},g={id:e,mayHaveRun:t.may_have_run};return h({toolName:o,args:u,approval:g},w,y=>c(t,y))}var _=(t,l)=>l?m(t,"More than {count} call waiting","More than {count} calls waiting"):m(t,"{count} call waiting","{count} calls waiting");export{A as approvalsView};
//# sourceMappingURL=approvals-view-E63YBIE6.js.map
