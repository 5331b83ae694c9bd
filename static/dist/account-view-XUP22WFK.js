import{E as t,j as n,l as i,p as a}from"./chunk-SNKA6PWK.js";function r(o,{onLogOut:s}){let c=t(o.display_name);return n`
    <div class="account" role="group" aria-label="Account">
      ${a.person}
      <span class="account-name" title=${t(o.id)}
        ><span class="visually-hidden">Logged in as </span>${c}</span
      >
      ${o.session?n`<button type="button" class="quiet" @click=${s}>Log out</button>`:i}
    </div>
  `}export{r as accountView};
//# sourceMappingURL=account-view-XUP22WFK.js.map
