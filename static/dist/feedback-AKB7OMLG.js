import{a as p}from"./chunk-YPCLCISO.js";import{i as h,j as r,k as c,l as f,o as l}from"./chunk-SNKA6PWK.js";var u=Object.freeze({value:"none",reason:"",asks:!1}),g=c`<path
  d="M3.5 9h3v7.5h-3zM6.5 9.5 9.8 3c1.3 0 2 .9 1.8 2.2L11.1 8h4.4c1 0 1.6.9 1.4 1.8
    l-1.3 5.4c-.2.8-.8 1.3-1.6 1.3H6.5" />`,k=c`<path
  d="M3.5 11h3V3.5h-3zM6.5 10.5 9.8 17c1.3 0 2-.9 1.8-2.2L11.1 12h4.4c1 0 1.6-.9 1.4-1.8
    l-1.3-5.4c-.2-.8-.8-1.3-1.6-1.3H6.5" />`,v=[["up","Good reply",l(g)],["down","Bad reply",l(k)]],w=o=>({value:o,reason:"",asks:!0}),$=2e3,m=o=>`/threads/${encodeURIComponent(o)}/feedback`,b=class{#e=null;#t=new Map;#s=new Map;#a=Promise.resolve();#n;#o;#i;constructor(t,s,e){this.#n=t,this.#o=s,this.#i=e,p("feedback")}of(t,s){if(t!==this.#e&&this.#u(t),!!s)return this.#s.has(s)||this.#s.set(s,()=>this.#c(s)),this.#s.get(s)}#c(t){let{value:s,reason:e,asks:a}=this.#t.get(t)??u;return r`
      ${v.map(([n,i,d])=>r`<button
            type="button"
            class="icon-button"
            aria-label=${i}
            title=${i}
            aria-pressed=${String(s===n)}
            @click=${()=>this.#r(t,s===n?u:w(n))}
          >
            ${d}
          </button>`)}
      ${a?this.#l(t,s,e):f}
    `}#l(t,s,e){return r`<form class="reason" @submit=${n=>{n.preventDefault();let i=String(new FormData(n.currentTarget).get("reason")).trim();this.#r(t,{value:s,reason:i,asks:!1})}}>
      <input
        name="reason"
        aria-label="Reason"
        placeholder="Why? (optional)"
        maxlength=${$}
        .value=${e}
        autocomplete="off"
      />
      <button type="submit">Send</button>
    </form>`}async#u(t){if(this.#e=t,this.#t=new Map,this.#s=new Map,t===null)return;let s=await h("GET",m(t)).catch(()=>({feedback:[]}));if(this.#e===t){for(let{message_id:e,value:a,reason:n}of s.feedback)this.#t.has(e)||this.#t.set(e,{value:a,reason:n,asks:!1});s.feedback.length&&(this.#s.clear(),this.#n.thread())}}async#r(t,s){let[e,a]=[this.#e,this.#t.get(t)??u];this.#h(t,s),await(this.#a=this.#a.then(()=>this.#f(e,t,s,a)))}async#f(t,s,e,a){try{await h("POST",m(t),{message_id:s,value:e.value,reason:e.reason}),this.#i.textContent=e.value==="none"?"Feedback taken back":"Feedback sent"}catch(n){this.#e===t&&this.#h(s,a),this.#o.say(n.message)}}#h(t,s){this.#t.set(t,s),this.#s.delete(t),this.#n.thread()}};export{b as Feedback};
//# sourceMappingURL=feedback-AKB7OMLG.js.map
