import{a as $}from"./chunk-IUHZV5EG.js";import{b as w}from"./chunk-YPCLCISO.js";import{J as x,g as b,h as f,j as c,l as d}from"./chunk-GJ43EFOR.js";var g;async function P(t){g??=b();let n=(await g).find(e=>e.name===t);if(!n)return null;let{draw:a,text:o,style:r,schema:i,actions:l}=n,[m,s]=await Promise.all([import(a),o?import(o):{},r&&w(r)]);return{schema:i,draw:(e,u)=>x(()=>m.draw(e,u)),text:s.text,drawsTitle:m.drawsTitle,below(e,u){let p=Object.values(l).filter(y=>v(y,e));return c`
        ${s.text&&!u?h($(s,e)):d}
        ${p.length?O(p,e,u):d}
      `}}}var h=t=>c`<p class="visually-hidden">${t}</p>`,v=({arguments:t},n)=>Object.values(t).every(a=>Object.hasOwn(n,a)),O=(t,n,a)=>c`
  <div class="component-bar actions-bar">
    ${t.map(o=>c`<button
          type="button"
          ?disabled=${a}
          @click=${r=>j(r,o,n)}
        >
          ${o.label}
        </button>`)}
    <span class="muted" role="status"></span>
  </div>
`;async function j(t,{tool:n,label:a,arguments:o},r){let i=t.currentTarget,l=i.parentElement?.querySelector("[role=status]");i.disabled=!0,l.textContent=`${a} \u2026`;let m=Object.entries(o).map(([s,e])=>[s,r[e]]);try{await f(n,Object.fromEntries(m)),l.textContent=`${a}: done`}catch(s){l.textContent=s.message,i.disabled=!1}}export{P as load};
//# sourceMappingURL=further-components-SWAXQYJQ.js.map
