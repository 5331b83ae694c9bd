import{a as u}from"./chunk-HB7JHYKV.js";import{E as m,I as f,a as e,l as n,o as y}from"./chunk-QVGNRCES.js";var b=f?"\u2318":"Ctrl";function $({thread:t,composer:o,notice:l,log:s,onOpen:a},r){let i=h=>l.say(t.busy?m:h),c=async()=>{await a(null),o.focus()},d=()=>{let p=[...s.querySelectorAll(".message.assistant")].at(-1)?.querySelector(".actions [aria-label^='Copy']");p?p.click():i(e("There is no reply to copy."))};return{n:[e("New thread"),c],s:[e("Search the threads"),r.onSearch],t:[e("To the list of threads"),r.onThreads],m:[e("To the message field"),r.onField],c:[e("Copy the last reply"),d],e:[e("Edit the last message"),()=>r.onEditLast()||i(e("There is no message to edit."))]}}var w=[[e("In the message field"),[[e("Send; queue while a reply is written"),[["Enter"]]],[e("Stop the reply and send"),[[b,"Enter"]]],[e("New line"),[["Shift","Enter"]]],[e("Edit the last message, if the field is empty"),[["\u2191"]]],[e("Leave the field"),[["Esc"]]]]],[e("Anywhere"),[[e("This list"),[["Ctrl","/"]]],[e("Search the threads"),[[b,"Shift","F"]]],[e("Stop the reply"),[["Esc"]]]]],[e("In the list of threads"),[[e("Up and down, to the first, to the last"),[["\u2191"],["\u2193"],["Home"],["End"]]],[e("Open"),[["Enter"]]],[e("To a thread's buttons and back"),[["\u2192"],["\u2190"]]],[e("Rename, delete"),[["F2"],["Delete"]]]]]];await u("keys");function K(t,o){let{keys:l}=t,s=a=>{l.close(),a()};y(k($(t,o),s),l),l.open||l.showModal()}function k(t,o){return n`
    <form method="dialog" @keydown=${s=>{let{ctrlKey:a,metaKey:r,altKey:i,repeat:c}=s,d=g(s);a||r||i||c||!Object.hasOwn(t,d)||(s.preventDefault(),o(t[d][1]))}}>
      <h2 id="keys-title">${e("Keys")}</h2>
      <div class="keys-groups" tabindex="0" role="group" aria-labelledby="keys-title">
        <section>
          <h3>${e("Commands: press the letter")}</h3>
          <ul>
            ${Object.entries(t).map(([s,[a,r]])=>n`<li>
                  <button type="button" class="quiet" @click=${()=>o(r)}>
                    ${a} <kbd>${s}</kbd>
                  </button>
                </li>`)}
          </ul>
        </section>
        ${w.map(([s,a])=>n`
            <section>
              <h3>${s}</h3>
              <dl>
                ${a.map(([r,i])=>n`<div>
                      <dt>${r}</dt>
                      <dd>${i.map(S)}</dd>
                    </div>`)}
              </dl>
            </section>
          `)}
      </div>
      <p class="muted">${e("What you type elsewhere goes to the message field.")}</p>
      <div class="dialog-bar"><button class="primary" autofocus>${e("Close")}</button></div>
    </form>
  `}var g=({key:t,code:o})=>(new RegExp("^\\p{L}$","u").test(t)&&!/^[a-z]$/i.test(t)?o.replace("Key",""):t).toLowerCase(),S=t=>n`<span class="keys-way">${t.map(o=>n`<kbd>${o}</kbd>`)}</span> `;export{K as showKeys};
//# sourceMappingURL=keys-dialog-EMPNMJTA.js.map
