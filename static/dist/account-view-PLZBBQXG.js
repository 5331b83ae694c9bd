import{K as i,b as o,q as n,s as a,w as s}from"./chunk-OGVQALJ5.js";function u(t,{onLogOut:c}){let e=i(t.display_name);return n`
    <div class="account" role="group" aria-label=${o("Account")}>
      ${s.person}
      <span class="account-name" title=${i(t.id)}
        ><span class="visually-hidden">${o("Logged in as")} </span>${e}</span
      >
      ${t.session?n`<button type="button" class="quiet" @click=${c}>${o("Log out")}</button>`:a}
    </div>
  `}export{u as accountView};
//# sourceMappingURL=account-view-PLZBBQXG.js.map
