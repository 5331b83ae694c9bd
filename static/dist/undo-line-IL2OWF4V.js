import{A as e,E as n,d as t,x as o,z as h}from"./chunk-HLNBHP72.js";var m=60,c=class{#t;#s;#i;constructor(i,s){this.#t=i,this.#s=s}show(i,s,r){clearTimeout(this.#i),this.#s.textContent=`${i} ${t("It can be undone.")}`,e(o`<p>${i}</p>
        <button type="button" class="quiet" @click=${()=>{this.hide(),s()}}>${t("Undo")}</button>
        <button
          type="button"
          class="icon-button"
          aria-label=${t("Dismiss")}
          title=${t("Dismiss")}
          @click=${()=>this.hide()}
        >
          ${n.cross}
        </button>`,this.#t),this.#t.hidden=!1,this.#i=setTimeout(()=>this.hide(),Math.min(r,m)*1e3)}hide(){clearTimeout(this.#i),this.#t.hidden=!0,e(h,this.#t)}};export{c as UndoLine};
//# sourceMappingURL=undo-line-IL2OWF4V.js.map
