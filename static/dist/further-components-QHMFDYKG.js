import{a as j}from"./chunk-B2AAQO64.js";import{b as y}from"./chunk-HB7JHYKV.js";import{J as g,Q as v,b,i as u,l as $,m as h,o as d,q as p,y as O,z as x}from"./chunk-H6G4MD3N.js";var f;async function z(t){f??=$().catch(o=>{throw f=void 0,o});let n=(await f).find(o=>o.name===t);if(!n)return null;let{draw:e,text:s,style:a,schema:r,actions:w}=n,[i,m]=await Promise.all([import(u(e)),s?import(u(s)).catch(C):{},a&&y(u(a))]);return{schema:r,draw:(o,c)=>v(()=>i.draw(o,c)),text:m.text,drawsTitle:i.drawsTitle,below(o,c){let l=Object.values(w).filter(k=>W(k,o));return d`
        ${m.text&&!c?E(j(m,o)):p}
        ${l.length?A(l,o,c):p}
      `}}}function C(t){return reportError(t),{}}var E=t=>d`<p class="visually-hidden">${t}</p>`,W=({arguments:t},n)=>Object.values(t).every(e=>Object.hasOwn(n,e)),T=(t,n)=>Object.fromEntries(Object.entries(t).map(([e,s])=>[e,n[s]])),_=2e3,q=t=>Object.entries(t).map(([n,e])=>`${n}: ${g(O(x(e,0),_))}`).join(", "),A=(t,n,e)=>d`
  <div class="component-bar actions-bar">
    ${t.map(s=>{let a=q(T(s.arguments,n));return d`<span class="component-action">
        ${a?d`<span class="muted">${a}</span>`:p}
        <button
          type="button"
          aria-description=${a||p}
          ?disabled=${e}
          @click=${r=>D(r,s,n)}
        >
          ${s.label}
        </button>
      </span>`})}
    <span class="muted" role="status"></span>
  </div>
`;async function D(t,{tool:n,label:e,arguments:s},a){let r=t.currentTarget,i=r.closest(".component-bar")?.querySelector("[role=status]");r.disabled=!0,i.textContent=`${e} \u2026`;try{await h(n,T(s,a)),i.textContent=b("{action}: done",{action:e})}catch(m){let{status:o,message:c}=m,l=o===0;i.textContent=l?b("{action}: no answer came; it may have been done.",{action:e}):c,r.disabled=l}}export{z as load};
//# sourceMappingURL=further-components-QHMFDYKG.js.map
