import{a as T}from"./chunk-SHWTQ7BJ.js";import{b as g}from"./chunk-HB7JHYKV.js";import{I as x,J as y,U as v,ca as j,d as p,r as $,u as O,v as h,x as l,z as u}from"./chunk-HLNBHP72.js";var b;async function z(t){b??=O().catch(e=>{throw b=void 0,e});let n=(await b).find(e=>e.name===t);if(!n)return null;let{draw:o,text:s,style:r,schema:a,actions:w}=n,[c,d]=await Promise.all([import(f(t,o)),s?import(f(t,s)).catch(E):{},r&&g(f(t,r))]);return{schema:a,draw:(e,i)=>j(()=>c.draw(e,i)),text:d.text,drawsTitle:c.drawsTitle,below(e,i){let m=Object.values(w).filter(C=>_(C,e));return l`
        ${d.text&&!i?W(T(d,e)):u}
        ${m.length?D(m,e,i):u}
      `}}}var f=(t,n)=>$(n.slice(n.lastIndexOf(`/components/${t}/`)));function E(t){return reportError(t),{}}var W=t=>l`<p class="visually-hidden">${t}</p>`,_=({arguments:t},n)=>Object.values(t).every(o=>Object.hasOwn(n,o)),k=(t,n)=>Object.fromEntries(Object.entries(t).map(([o,s])=>[o,n[s]])),q=2e3,A=t=>Object.entries(t).map(([n,o])=>`${n}: ${v(x(y(o,0),q))}`).join(", "),D=(t,n,o)=>l`
  <div class="component-bar actions-bar">
    ${t.map(s=>{let r=A(k(s.arguments,n));return l`<span class="component-action">
        ${r?l`<span class="muted">${r}</span>`:u}
        <button
          type="button"
          aria-description=${r||u}
          ?disabled=${o}
          @click=${a=>I(a,s,n)}
        >
          ${s.label}
        </button>
      </span>`})}
    <span class="muted" role="status"></span>
  </div>
`;async function I(t,{tool:n,label:o,arguments:s},r){let a=t.currentTarget,c=a.closest(".component-bar")?.querySelector("[role=status]");a.disabled=!0,c.textContent=`${o} \u2026`;try{await h(n,k(s,r)),c.textContent=p("{action}: done",{action:o})}catch(d){let{status:e,message:i}=d,m=e===0;c.textContent=m?p("{action}: no answer came; it may have been done.",{action:o}):i,a.disabled=m}}export{z as load};
//# sourceMappingURL=further-components-PUE6TLVO.js.map
