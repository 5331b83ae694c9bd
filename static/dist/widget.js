(()=>{{let i=document.currentScript,m=new URL(".",i.src).href,{label:a="Chat",closeLabel:g="Close",side:w="right"}=i.dataset,l="turnstream-panel",v=`
    :host { all: initial; font: 16px/1.4 system-ui, sans-serif; color-scheme: light dark; }
    .opener, .panel {
      position: fixed; z-index: 2147483000; ${w==="left"?"left":"right"}: 20px;
    }
    .opener {
      bottom: 20px; min-width: 56px; min-height: 56px; padding: 0 20px; border: 0;
      border-radius: 28px; background: var(--turnstream-accent, #0b6b64);
      color: var(--turnstream-on-accent, #fff); font: inherit; font-weight: 600; cursor: pointer;
      box-shadow: 0 4px 16px rgb(0 0 0 / 0.25);
    }
    .panel {
      bottom: 88px; display: flex; flex-direction: column; width: min(400px, 100vw - 40px);
      height: min(640px, 100dvh - 108px); overflow: hidden; border: 1px solid #8d877c;
      border-radius: 16px; background: light-dark(#fff, #16181b);
      color: light-dark(#20242a, #e7e8ea);
      box-shadow: 0 8px 32px rgb(0 0 0 / 0.3);
    }
    .panel[hidden] { display: none; }
    .head {
      display: flex; align-items: center; justify-content: space-between; padding: 0 4px 0 16px;
    }
    .head button {
      min-width: 44px; min-height: 44px; border: 0; background: none; color: inherit;
      font: inherit; cursor: pointer;
    }
    :focus-visible { outline: 2px solid var(--turnstream-accent, #0b6b64); outline-offset: 2px; }
    iframe { flex: 1; width: 100%; border: 0; }
    @media (max-width: 480px) {
      .panel { inset: 0; width: auto; height: auto; border: 0; border-radius: 0; }
      .panel:not([hidden]) + .opener { display: none; }
    }
    @media print { .opener, .panel { display: none; } }
  `,t=(e,p,...y)=>{let c=document.createElement(e);for(let[S,k]of Object.entries(p))c.setAttribute(S,k);return c.append(...y),c},r=t("button",{type:"button",class:"opener",part:"opener","aria-controls":l},a),h=t("button",{type:"button","aria-label":g},"\u2715"),n=t("div",{id:l,class:"panel",part:"panel",role:"dialog","aria-label":a},t("div",{class:"head"},t("strong",{},a),h)),o,d=e=>{n.hidden=!e,r.setAttribute("aria-expanded",String(e)),e&&!o&&(o=t("iframe",{src:m,title:a,allow:"clipboard-write"}),n.append(o))},s=()=>{d(!1),r.focus()};r.addEventListener("click",()=>{d(!!n.hidden),n.hidden||o?.focus()}),h.addEventListener("click",s),n.addEventListener("keydown",({key:e})=>e==="Escape"&&s()),addEventListener("message",({source:e,data:p})=>{o&&e===o.contentWindow&&p==="turnstream:escape"&&s()});let b=t("div",{class:"turnstream-widget"}),u=b.attachShadow({mode:"open"}),f=new CSSStyleSheet;f.replaceSync(v),u.adoptedStyleSheets=[f],u.append(n,r),d("open"in i.dataset);let x=()=>document.body.append(b);document.body?x():addEventListener("DOMContentLoaded",x)}})();
//# sourceMappingURL=widget.js.map
