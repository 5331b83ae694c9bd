import{a as m}from"./chunk-HB7JHYKV.js";import{D as u,d as o,w as c,x as h,y as l,z as p}from"./chunk-HLNBHP72.js";var f=Object.freeze({value:"none",reason:"",asks:!1}),k=l`<path
  d="M3.5 9h3v7.5h-3zM6.5 9.5 9.8 3c1.3 0 2 .9 1.8 2.2L11.1 8h4.4c1 0 1.6.9 1.4 1.8
    l-1.3 5.4c-.2.8-.8 1.3-1.6 1.3H6.5" />`,$=l`<path
  d="M3.5 11h3V3.5h-3zM6.5 10.5 9.8 17c1.3 0 2-.9 1.8-2.2L11.1 12h4.4c1 0 1.6-.9 1.4-1.8
    l-1.3-5.4c-.2-.8-.8-1.3-1.6-1.3H6.5" />`,v=[["up",o("Good reply"),u(k)],["down",o("Bad reply"),u($)]],w=i=>({value:i,reason:"",asks:!0}),M=2e3,b=i=>`/threads/${encodeURIComponent(i)}/feedback`,d=class{#e=null;#t=new Map;#s=new Map;#a=Promise.resolve();#n;#o;#i;constructor(t,s,e){this.#n=t,this.#o=s,this.#i=e,m("feedback")}of(t,s){if(t!==this.#e&&this.#u(t),!!s)return this.#s.has(s)||this.#s.set(s,()=>this.#c(s)),this.#s.get(s)}#c(t){let{value:s,reason:e,asks:a}=this.#t.get(t)??f;return h`
      ${v.map(([n,r,g])=>h`<button
            type="button"
            class="icon-button"
            aria-label=${r}
            title=${r}
            aria-pressed=${String(s===n)}
            @click=${()=>this.#r(t,s===n?f:w(n))}
          >
            ${g}
          </button>`)}
      ${a?this.#l(t,s,e):p}
    `}#l(t,s,e){return h`<form class="reason" @submit=${n=>{n.preventDefault();let r=String(new FormData(n.currentTarget).get("reason")).trim();this.#r(t,{value:s,reason:r,asks:!1})}}>
      <input
        name="reason"
        aria-label=${o("Reason")}
        placeholder=${o("Why? (optional)")}
        maxlength=${M}
        .value=${e}
        autocomplete="off"
      />
      <button type="submit">${o("Send")}</button>
    </form>`}async#u(t){if(this.#e=t,this.#t=new Map,this.#s=new Map,t===null)return;let s=await c("GET",b(t)).catch(()=>({feedback:[]}));if(this.#e===t){for(let{message_id:e,value:a,reason:n}of s.feedback)this.#t.has(e)||this.#t.set(e,{value:a,reason:n,asks:!1});s.feedback.length&&(this.#s.clear(),this.#n.thread())}}async#r(t,s){let[e,a]=[this.#e,this.#t.get(t)??f];this.#h(t,s),await(this.#a=this.#a.then(()=>this.#f(e,t,s,a)))}async#f(t,s,e,a){try{await c("POST",b(t),{message_id:s,value:e.value,reason:e.reason}),this.#i.textContent=e.value==="none"?o("Feedback taken back"):o("Feedback sent")}catch(n){this.#e===t&&this.#h(s,a),this.#o.say(n.message)}}#h(t,s){this.#t.set(t,s),this.#s.delete(t),this.#n.thread()}};export{d as Feedback};
//# sourceMappingURL=feedback-65S44TDN.js.map
