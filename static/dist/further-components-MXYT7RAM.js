import{a as v}from"./chunk-BG227MII.js";import{b as x}from"./chunk-YPCLCISO.js";import{E as y,L as g,g as f,h as w,j as l,l as u,t as $,u as h}from"./chunk-SNKA6PWK.js";var p;async function S(t){p??=f().catch(o=>{throw p=void 0,o});let n=(await p).find(o=>o.name===t);if(!n)return null;let{draw:e,text:s,style:r,schema:a,actions:b}=n,[c,m]=await Promise.all([import(e),s?import(s).catch(T):{},r&&x(r)]);return{schema:a,draw:(o,i)=>g(()=>c.draw(o,i)),text:m.text,drawsTitle:c.drawsTitle,below(o,i){let d=Object.values(b).filter(j=>C(j,o));return l`
        ${m.text&&!i?k(v(m,o)):u}
        ${d.length?_(d,o,i):u}
      `}}}function T(t){return reportError(t),{}}var k=t=>l`<p class="visually-hidden">${t}</p>`,C=({arguments:t},n)=>Object.values(t).every(e=>Object.hasOwn(n,e)),O=(t,n)=>Object.fromEntries(Object.entries(t).map(([e,s])=>[e,n[s]])),E=2e3,W=t=>Object.entries(t).map(([n,e])=>`${n}: ${y($(h(e,0),E))}`).join(", "),_=(t,n,e)=>l`
  <div class="component-bar actions-bar">
    ${t.map(s=>{let r=W(O(s.arguments,n));return l`<span class="component-action">
        ${r?l`<span class="muted">${r}</span>`:u}
        <button
          type="button"
          aria-description=${r||u}
          ?disabled=${e}
          @click=${a=>q(a,s,n)}
        >
          ${s.label}
        </button>
      </span>`})}
    <span class="muted" role="status"></span>
  </div>
`;async function q(t,{tool:n,label:e,arguments:s},r){let a=t.currentTarget,c=a.closest(".component-bar")?.querySelector("[role=status]");a.disabled=!0,c.textContent=`${e} \u2026`;try{await w(n,O(s,r)),c.textContent=`${e}: done`}catch(m){let{status:o,message:i}=m,d=o===0;c.textContent=d?`${e}: no answer came; it may have been done.`:i,a.disabled=d}}export{S as load};
//# sourceMappingURL=further-components-MXYT7RAM.js.map
