import{j as e,l as o,m as s,p as h}from"./chunk-SNKA6PWK.js";var r=60,n=class{#t;#s;#i;constructor(t,i){this.#t=t,this.#s=i}show(t,i,c){clearTimeout(this.#i),this.#s.textContent=`${t} It can be undone.`,s(e`<p>${t}</p>
        <button type="button" class="quiet" @click=${()=>{this.hide(),i()}}>Undo</button>
        <button
          type="button"
          class="icon-button"
          aria-label="Dismiss"
          title="Dismiss"
          @click=${()=>this.hide()}
        >
          ${h.cross}
        </button>`,this.#t),this.#t.hidden=!1,this.#i=setTimeout(()=>this.hide(),Math.min(c,r)*1e3)}hide(){clearTimeout(this.#i),this.#t.hidden=!0,s(o,this.#t)}};export{n as UndoLine};
//# sourceMappingURL=undo-line-CX5ZAMUD.js.map
