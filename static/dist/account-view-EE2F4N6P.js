import{I as i,b as o,m as n,o as a,s}from"./chunk-USGA5I56.js";function u(t,{onLogOut:c}){let e=i(t.display_name);return n`
    <div class="account" role="group" aria-label=${o("Account")}>
      ${s.person}
      <span class="account-name" title=${i(t.id)}
        ><span class="visually-hidden">${o("Logged in as")} </span>${e}</span
      >
      ${t.session?n`<button type="button" class="quiet" @click=${c}>${o("Log out")}</button>`:a}
    </div>
  `}export{u as accountView};
//# sourceMappingURL=account-view-EE2F4N6P.js.map
