import{a as $}from"./chunk-YPCLCISO.js";import{R as f,b as m,d as b,j as e,l as r,n as v,p as c}from"./chunk-SNKA6PWK.js";await $("inspector");var N=({calls:t,answers:i,loaded:l,failed:p,hasMore:s,told:o},u,a)=>e`
  <header class="inspector-bar">
    <h2>Approvals</h2>
    <span class="muted" role="status"
      >${l?`${s?"More than ":""}${b(t.length,"call")} waiting`:r}</span
    >
    <button
      type="button"
      class="icon-button"
      aria-label="Close the approvals"
      @click=${a.onClose}
    >
      ${c.cross}
    </button>
  </header>
  <div
    class="approvals-list"
    tabindex="0"
    role="region"
    aria-label="Calls of others that wait for an approval"
  >
    <div class="approvals-told" role="status">${o&&!o.isError?o.words:r}</div>
    ${o?.isError?e`<p class="question-failed" role="alert">${c.warning} ${o.words}</p>`:r}
    ${p?e`<p class="muted">
            The list could not be loaded.
            <button type="button" class="link" @click=${a.onReload}>Retry</button>
          </p>`:r}
    ${l&&!t.length&&!s&&!p?e`<p class="muted">No call of anybody else waits for your approval.</p>`:r}
    ${v(t,({id:n})=>n,n=>k(n,i,u,a))}
    ${s?e`<p class="muted">
            <button type="button" class="link" @click=${a.onMore}>Show more</button>
          </p>`:r}
  </div>
`;function k(t,i,l,{onDecide:p}){let{id:s,tool_name:o,args:u,asked_by:a,asked_at:n,expires_at:d}=t,h={tool:l.of(o),answer:i[s],asker:a.name||a.id,since:m(n),until:d&&m(d)},y={id:s,mayHaveRun:t.may_have_run};return f({toolName:o,args:u,approval:y},h,w=>p(t,w))}export{N as approvalsView};
//# sourceMappingURL=approvals-view-MKZFWZ4F.js.map
