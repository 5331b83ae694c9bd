import{a as u}from"./chunk-HB7JHYKV.js";import{A as y,Q as f,V as b,c as n,d as e,x as i}from"./chunk-HLNBHP72.js";var $=b?"\u2318":"Ctrl",w=n("threads")&&n("search");function g({thread:t,composer:r,notice:l,log:s,onOpen:a},o){let d=p=>l.say(t.busy?f:p),h=async()=>{await a(null),r.focus()},c=()=>{let m=[...s.querySelectorAll(".message.assistant")].at(-1)?.querySelector(".actions .copy-message");m?m.click():d(e("There is no reply to copy."))};return{n:[e("New thread"),h],...w&&{s:[e("Search the threads"),o.onSearch]},...n("threads")&&{t:[e("To the list of threads"),o.onThreads]},m:[e("To the message field"),o.onField],c:[e("Copy the last reply"),c],e:[e("Edit the last message"),()=>o.onEditLast()||d(e("There is no message to edit."))]}}var k=[[e("In the message field"),[[e("Send; queue while a reply is written"),[["Enter"]]],[e("Stop the reply and send"),[[$,"Enter"]]],[e("New line"),[["Shift","Enter"]]],[e("Edit the last message, if the field is empty"),[["\u2191"]]],[e("Leave the field"),[["Esc"]]]]],[e("Anywhere"),[[e("This list"),[["Ctrl","/"]]],w&&[e("Search the threads"),[[$,"Shift","F"]]],[e("Stop the reply"),[["Esc"]]]]],n("threads")&&[e("In the list of threads"),[[e("Up and down, to the first, to the last"),[["\u2191"],["\u2193"],["Home"],["End"]]],[e("Open"),[["Enter"]]],[e("To a thread's buttons and back"),[["\u2192"],["\u2190"]]],n("rename")&&[e("Rename"),[["F2"]]],n("delete")&&[e("Delete"),[["Delete"]]]]]];await u("keys");function q(t,r){let{keys:l}=t,s=a=>{l.close(),a()};y(S(g(t,r),s),l),l.open||l.showModal()}function S(t,r){return i`
    <form method="dialog" @keydown=${s=>{let{ctrlKey:a,metaKey:o,altKey:d,repeat:h}=s,c=E(s);a||o||d||h||!Object.hasOwn(t,c)||(s.preventDefault(),r(t[c][1]))}}>
      <h2 id="keys-title">${e("Keys")}</h2>
      <div class="keys-groups" tabindex="0" role="group" aria-labelledby="keys-title">
        <section>
          <h3>${e("Commands: press the letter")}</h3>
          <ul>
            ${Object.entries(t).map(([s,[a,o]])=>i`<li>
                  <button type="button" class="quiet" @click=${()=>r(o)}>
                    ${a} <kbd>${s}</kbd>
                  </button>
                </li>`)}
          </ul>
        </section>
        ${k.filter(s=>s!==!1).map(([s,a])=>i`
            <section>
              <h3>${s}</h3>
              <dl>
                ${a.filter(o=>o!==!1).map(([o,d])=>i`<div>
                        <dt>${o}</dt>
                        <dd>${d.map(C)}</dd>
                      </div>`)}
              </dl>
            </section>
          `)}
      </div>
      <p class="muted">${e("What you type elsewhere goes to the message field.")}</p>
      <div class="dialog-bar"><button class="primary" autofocus>${e("Close")}</button></div>
    </form>
  `}var E=({key:t,code:r})=>(new RegExp("^\\p{L}$","u").test(t)&&!/^[a-z]$/i.test(t)?r.replace("Key",""):t).toLowerCase(),C=t=>i`<span class="keys-way">${t.map(r=>i`<kbd>${r}</kbd>`)}</span> `;export{q as showKeys};
//# sourceMappingURL=keys-dialog-MBTJC2ZG.js.map
