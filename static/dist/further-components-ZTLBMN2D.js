import{a as g}from"./chunk-4GTAY4BI.js";import{b as h}from"./chunk-YPCLCISO.js";import{C as x,J as y,g as w,h as f,j as l,l as u,t as $}from"./chunk-QPPZ2MNQ.js";var p;async function A(t){p??=w().catch(o=>{throw p=void 0,o});let e=(await p).find(o=>o.name===t);if(!e)return null;let{draw:n,text:s,style:a,schema:r,actions:b}=e,[i,m]=await Promise.all([import(n),s?import(s):{},a&&h(a)]);return{schema:r,draw:(o,c)=>y(()=>i.draw(o,c)),text:m.text,drawsTitle:i.drawsTitle,below(o,c){let d=Object.values(b).filter(j=>T(j,o));return l`
        ${m.text&&!c?O(g(m,o)):u}
        ${d.length?C(d,o,c):u}
      `}}}var O=t=>l`<p class="visually-hidden">${t}</p>`,T=({arguments:t},e)=>Object.values(t).every(n=>Object.hasOwn(e,n)),v=(t,e)=>Object.fromEntries(Object.entries(t).map(([n,s])=>[n,e[s]])),k=t=>Object.entries(t).map(([e,n])=>`${e}: ${x($(n,0))}`).join(", "),C=(t,e,n)=>l`
  <div class="component-bar actions-bar">
    ${t.map(s=>{let a=k(v(s.arguments,e));return l`<span class="component-action">
        ${a?l`<span class="muted">${a}</span>`:u}
        <button
          type="button"
          aria-description=${a||u}
          ?disabled=${n}
          @click=${r=>q(r,s,e)}
        >
          ${s.label}
        </button>
      </span>`})}
    <span class="muted" role="status"></span>
  </div>
`;async function q(t,{tool:e,label:n,arguments:s},a){let r=t.currentTarget,i=r.closest(".component-bar")?.querySelector("[role=status]");r.disabled=!0,i.textContent=`${n} \u2026`;try{await f(e,v(s,a)),i.textContent=`${n}: done`}catch(m){let{status:o,message:c}=m,d=o===0;i.textContent=d?`${n}: no answer came; it may have been done.`:c,r.disabled=d}}export{A as load};
//# sourceMappingURL=further-components-ZTLBMN2D.js.map
