import{a as w}from"./chunk-DN6EUFNB.js";import{b as f}from"./chunk-YPCLCISO.js";import{g as p,h as b,j as c,l as u}from"./chunk-U6ZQG4QY.js";var g;async function E(t){g??=p();let e=(await g).find(o=>o.name===t);if(!e)return null;let{draw:n,text:a,style:r,schema:i,actions:l}=e,[m,s]=await Promise.all([import(n),a?import(a):{},r&&f(r)]);return{schema:i,draw:m.draw,text:s.text,drawsTitle:m.drawsTitle,below(o,x){let d=Object.values(l).filter($=>h($,o));return c`
        ${s.text?y(w(s,o)):u}
        ${d.length?v(d,o,x):u}
      `}}}var y=t=>c`<p class="visually-hidden">${t}</p>`,h=({arguments:t},e)=>Object.values(t).every(n=>Object.hasOwn(e,n)),v=(t,e,n)=>c`
  <div class="component-bar actions-bar">
    ${t.map(a=>c`<button
          type="button"
          ?disabled=${n}
          @click=${r=>O(r,a,e)}
        >
          ${a.label}
        </button>`)}
    <span class="muted" role="status"></span>
  </div>
`;async function O(t,{tool:e,label:n,arguments:a},r){let i=t.currentTarget,l=i.parentElement?.querySelector("[role=status]");i.disabled=!0,l.textContent=`${n} \u2026`;let m=Object.entries(a).map(([s,o])=>[s,r[o]]);try{await b(e,Object.fromEntries(m)),l.textContent=`${n}: done`}catch(s){l.textContent=s.message,i.disabled=!1}}export{E as load};
//# sourceMappingURL=further-components-QTAW576X.js.map
