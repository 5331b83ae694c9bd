import{E as s,U as i,d as o,x as n,z as a}from"./chunk-HLNBHP72.js";function u(t,{onLogOut:c}){let e=i(t.display_name);return n`
    <div class="account" role="group" aria-label=${o("Account")}>
      ${s.person}
      <span class="account-name" title=${i(t.id)}
        ><span class="visually-hidden">${o("Logged in as")} </span>${e}</span
      >
      ${t.session?n`<button type="button" class="quiet" @click=${c}>${o("Log out")}</button>`:a}
    </div>
  `}export{u as accountView};
//# sourceMappingURL=account-view-FJZGCRMA.js.map
