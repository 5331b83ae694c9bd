import{a as u}from"./chunk-YPCLCISO.js";import{B as y,F as m,j as l,m as p}from"./chunk-SNKA6PWK.js";var f=m?"\u2318":"Ctrl";function b({thread:e,composer:s,notice:r,log:t,onOpen:a},o){let n=c=>r.say(e.busy?y:c),d=async()=>{await a(null),s.focus()},i=()=>{let h=[...t.querySelectorAll(".message.assistant")].at(-1)?.querySelector(".actions [aria-label^='Copy']");h?h.click():n("There is no reply to copy.")};return{n:["New thread",d],s:["Search the threads",o.onSearch],t:["To the list of threads",o.onThreads],m:["To the message field",o.onField],c:["Copy the last reply",i],e:["Edit the last message",()=>o.onEditLast()||n("There is no message to edit.")]}}var w=[["In the message field",[["Send; queue while a reply is written",[["Enter"]]],["Stop the reply and send",[[f,"Enter"]]],["New line",[["Shift","Enter"]]],["Edit the last message, if the field is empty",[["\u2191"]]],["Leave the field",[["Esc"]]]]],["Anywhere",[["This list",[["Ctrl","/"]]],["Search the threads",[[f,"Shift","F"]]],["Stop the reply",[["Esc"]]]]],["In the list of threads",[["Up and down, to the first, to the last",[["\u2191"],["\u2193"],["Home"],["End"]]],["Open",[["Enter"]]],["To a thread's buttons and back",[["\u2192"],["\u2190"]]],["Rename, delete",[["F2"],["Delete"]]]]]];await u("keys");function T(e,s){let{keys:r}=e,t=a=>{r.close(),a()};p(k(b(e,s),t),r),r.open||r.showModal()}function k(e,s){return l`
    <form method="dialog" @keydown=${t=>{let{ctrlKey:a,metaKey:o,altKey:n,repeat:d}=t,i=$(t);a||o||n||d||!Object.hasOwn(e,i)||(t.preventDefault(),s(e[i][1]))}}>
      <h2 id="keys-title">Keys</h2>
      <div class="keys-groups" tabindex="0" role="group" aria-labelledby="keys-title">
        <section>
          <h3>Commands: press the letter</h3>
          <ul>
            ${Object.entries(e).map(([t,[a,o]])=>l`<li>
                  <button type="button" class="quiet" @click=${()=>s(o)}>
                    ${a} <kbd>${t}</kbd>
                  </button>
                </li>`)}
          </ul>
        </section>
        ${w.map(([t,a])=>l`
            <section>
              <h3>${t}</h3>
              <dl>
                ${a.map(([o,n])=>l`<div>
                      <dt>${o}</dt>
                      <dd>${n.map(g)}</dd>
                    </div>`)}
              </dl>
            </section>
          `)}
      </div>
      <p class="muted">What you type elsewhere goes to the message field.</p>
      <div class="dialog-bar"><button class="primary" autofocus>Close</button></div>
    </form>
  `}var $=({key:e,code:s})=>(new RegExp("^\\p{L}$","u").test(e)&&!/^[a-z]$/i.test(e)?s.replace("Key",""):e).toLowerCase(),g=e=>l`<span class="keys-way">${e.map(s=>l`<kbd>${s}</kbd>`)}</span> `;export{T as showKeys};
//# sourceMappingURL=keys-dialog-PQ3K66YM.js.map
