import{$ as J,A as k,B as lt,E as _,R as F,S as ct,Y as ht,a as G,aa as H,b as at,ba as pt,d as l,da as dt,e as T,ea as ut,fa as ft,ga as j,h as P,ha as U,i as S,ia as Y,j as mt,ja as xt,k as C,ka as D,l as q,la as O,m as W,x as d,y as x,z as $}from"./chunk-HLNBHP72.js";var $t={type:"object",properties:{message:{type:"string",maxLength:2e3},tone:{enum:["info","success","warning","danger"]}},required:["message"],additionalProperties:!1};var gt={type:"object",properties:{categories:{type:"array",minItems:1,maxItems:40,items:{type:"string",maxLength:80},dataFrom:!0},series:{type:"array",minItems:1,maxItems:8,items:{type:"object",properties:{name:{type:"string",maxLength:80},data:{type:"array",maxItems:500,items:{type:["number","null"]},sameLengthAs:"categories",description:"one number or null for each category"}},required:["name","data"],additionalProperties:!1},dataFrom:!0},x_label:{type:"string",maxLength:2e3,dataFrom:!0},y_label:{type:"string",maxLength:2e3,dataFrom:!0},horizontal:{type:"boolean",description:"true for long names"}},required:["categories","series"],additionalProperties:!1};var yt={type:"object",properties:{x:{type:"array",minItems:2,maxItems:500,items:{type:["number","string"],description:"numbers, or ISO 8601 local times without offset"},dataFrom:!0},series:{type:"array",minItems:1,maxItems:8,items:{type:"object",properties:{name:{type:"string",maxLength:80},data:{type:"array",maxItems:500,items:{type:["number","null"]},sameLengthAs:"x",description:"one number or null for each x"}},required:["name","data"],additionalProperties:!1},dataFrom:!0},x_label:{type:"string",maxLength:2e3,dataFrom:!0},y_label:{type:"string",maxLength:2e3,dataFrom:!0},time_zone:{type:"string",dataFrom:!0}},required:["x","series"],additionalProperties:!1};var bt={type:"object",properties:{cards:{type:"array",minItems:1,maxItems:12,items:{type:"object",properties:{label:{type:"string"},value:{type:["number","string","null"]},unit:{type:"string"},delta:{type:"string",description:"string"},tone:{enum:["info","success","warning","danger"]}},required:["label","value"],additionalProperties:!1}}},required:["cards"],additionalProperties:!1};var wt={type:"object",description:"shares of a whole",properties:{categories:{type:"array",minItems:2,maxItems:8,items:{type:"string",maxLength:80},dataFrom:!0},series:{type:"array",minItems:1,maxItems:1,items:{type:"object",properties:{name:{type:"string",maxLength:80},data:{type:"array",items:{type:"number",minimum:0},sameLengthAs:"categories",description:"one number of 0 or more for each category"}},required:["name","data"],additionalProperties:!1},dataFrom:!0}},required:["categories","series"],additionalProperties:!1};var Lt={type:"object",properties:{markdown:{type:"string",maxLength:2e4,description:"up to 20000 characters"}},required:["markdown"],additionalProperties:!1};var vt={type:"object",description:"how two quantities go together",properties:{x:{type:"array",minItems:2,maxItems:500,items:{type:"number"},dataFrom:!0},series:{type:"array",minItems:1,maxItems:8,items:{type:"object",properties:{name:{type:"string",maxLength:80},data:{type:"array",maxItems:500,items:{type:["number","null"]},sameLengthAs:"x",description:"one number or null for each x"}},required:["name","data"],additionalProperties:!1},dataFrom:!0},x_label:{type:"string",maxLength:2e3,dataFrom:!0},y_label:{type:"string",maxLength:2e3,dataFrom:!0}},required:["x","series"],additionalProperties:!1};var _t={type:"object",properties:{columns:{type:"array",minItems:1,maxItems:20,items:{type:"object",properties:{key:{type:"string"},label:{type:"string"},align:{enum:["left","right"]}},required:["key"],additionalProperties:!1},dataFrom:!0},rows:{type:"array",maxItems:200,items:{type:"object",description:"objects from column key to string, number, boolean or null",additionalProperties:{type:["string","number","boolean","null"]}},dataFrom:!0}},required:["columns","rows"],additionalProperties:!1};var pe={info:["info",_.info,l("Information")],success:["success",_.check,l("Success")],warning:["warning",_.warning,l("Warning")],danger:["danger",_.warning,l("Danger")]},It=!0;function Mt({title:t,message:e,tone:r}){let[s,o,n]=pe[r??"info"];return d`
    <div class="notice ${s}" role="note" aria-label=${n}>
      ${o}
      <div>
        ${t?d`<h2 class="component-title">${F(t)}</h2>`:$}
        <p>${F(e)}</p>
      </div>
    </div>
  `}var X=(t,e,r,s)=>{let o=s===null?l("no value"):C(e,r)(s);return`${t}${e?`, ${e}`:""}: ${o}`};var Q=16,de=12,St=6.6,I={top:8,right:16,bottom:26},ue=.4,Ct=({categories:t,series:e,y_label:r})=>t.length*(e.length*Q+de)+I.top+I.bottom+(r?16:0);function kt({categories:t,series:e,y_label:r},s,o){let n=Math.max(...t.map(({length:f})=>f))*St,i=Math.min(n,s*ue)+10,m=Math.max(3,Math.floor((i-10)/St)),u=e.flatMap(({data:f})=>f.filter(g=>g!==null)),{ticks:p,at:a}=D([0,...u],i,s-I.right),c=o-I.bottom-(r?16:0),h=(c-I.top)/t.length,y=({name:f,data:g},b)=>g.slice(0,t.length).map((w,z)=>{let[L,M]=w===null?[i,s-I.right]:fe(a(0),a(w)),K=I.top+h*(z+.5)+Q*(b-e.length/2),se=w===null?"no-value":`s${b%8+1}`;return x`<rect class=${se} x=${L} y=${K} rx="3" height=${Q-2}
        width=${Math.max(.5,M-L)}
        ><title>${X(t[z],f,g,w)}</title></rect>`});return d`<svg
    viewBox="0 0 ${s} ${o}"
    width=${s}
    height=${o}
    aria-hidden="true"
  >
    ${p.map(f=>x`
        <line class="grid" x1=${a(f)} x2=${a(f)} y1=${I.top} y2=${c}></line>
        <text class="tick" text-anchor="middle" x=${a(f)} y=${c+18}
          >${S(f)}</text>`)}
    ${e.map(y)}
    <line class="axis" x1=${a(0)} x2=${a(0)} y1=${I.top} y2=${c}></line>
    ${t.map((f,g)=>x`<text class="tick" text-anchor="end" x=${i-8}
        y=${I.top+h*(g+.5)+4}>${xe(f,m)}<title>${f}</title
        ></text>`)}
    ${r?x`<text class="axis-name" text-anchor="middle"
            x=${s/2} y=${o-4}>${r}</text>`:$}
  </svg>`}var fe=(t,e)=>t<e?[t,e]:[e,t],xe=(t,e)=>t.length>e?`${t.slice(0,e-1)}\u2026`:t;var N=260,v={top:12,right:8,bottom:30,left:48},tt=6.6;function Ot(t,{isStreaming:e}){let{title:r,categories:s,series:o,x_label:n}=t,i={kind:l("Bar chart"),title:r,counted:m=>T(m,"{count} bar","{count} bars"),head:n??l("Category"),keys:s,series:o,isStreaming:e,marksGaps:!0};return U(i,$e(t))}var $e=O(t=>({draw(e){let r=e.horizontal?Ct(e):N;t.style.height=`${r}px`;let s=e.horizontal?kt:ge;k(s(e,t.clientWidth,r),t)}}));function ge({categories:t,series:e,y_label:r,x_label:s},o){let n=(o-v.left-v.right)/t.length,i=W(t),{labels:m,shared:u}=i??Le(t,n),p=Math.ceil((i?we(m):Tt)/n),a=s??u,c=e.flatMap(({data:L})=>L.filter(M=>M!==null)),h=N-v.bottom-(a?16:0),y=v.top+(r?18:0),{ticks:f,at:g}=D([0,...c],h,y),b=Pt(n*p),w=i?o-2:1/0,z=(L,M)=>{if(M%p)return $;let K=v.left+n*(M+.5);return _e(L,t[M],{x:K,y:h+18,room:b,end:w})};return d`<svg
    viewBox="0 0 ${o} ${N}"
    width=${o}
    height=${N}
    aria-hidden="true"
  >
    ${f.map(L=>ye(L,g(L),o))}
    ${e.map((L,M)=>be(L,M,e.length,{categories:t,slot:n,y:g,top:y,bottom:h}))}
    <line class="axis" x1=${v.left} x2=${o-v.right} y1=${g(0)} y2=${g(0)}></line>
    ${m.map(z)}
    ${r?x`<text class="axis-name" x="2" y="12">${r}</text>`:$}
    ${a?x`<text class="axis-name" text-anchor="middle"
            x=${o/2} y=${N-4}>${a}</text>`:$}
  </svg>`}var ye=(t,e,r)=>x`
  <line class="grid" x1=${v.left} x2=${r-v.right} y1=${e} y2=${e}></line>
  <text class="tick" text-anchor="end" x=${v.left-8} y=${e+4}>${S(t)}</text>
`;function be({name:t,data:e},r,s,{categories:o,slot:n,y:i,top:m,bottom:u}){let p=Math.max(1,Math.min(52,n*.72/s));return e.slice(0,o.length).map((a,c)=>{let h=a===null,y=v.left+n*(c+.5)+p*(r-s/2),[f,g]=h?[m,u]:a<0?[i(0),i(a)]:[i(a),i(0)],b=h?"no-value":`s${r%8+1}`;return x`<rect class=${b} x=${y} y=${f} width=${Math.max(1,p-2)}
      height=${Math.max(.5,g-f)} rx="3"
      ><title>${X(o[c],t,e,a)}</title></rect>`})}var Tt=26,we=t=>Math.max(...t.map(({length:e})=>e+3))*tt,Pt=t=>Math.max(3,Math.floor(t/tt));function Le(t,e){let r=ve(t);return!t.some(o=>o.length>Pt(e*Math.ceil(Tt/e)))||!r?{labels:t}:{labels:t.map(o=>o.slice(r.length)),shared:r.trim()}}function ve([t,...e]){if(!e.length)return"";let r=t.lastIndexOf(" ")+1;for(;r&&!e.every(s=>s.startsWith(t.slice(0,r)));)r=t.lastIndexOf(" ",r-2)+1;return t.slice(0,r)}function _e(t,e,{x:r,y:s,room:o,end:n}){let i=t.length>o?`${t.slice(0,o-1)}\u2026`:t,m=Math.min(r,n-i.length*tt/2);return x`<text class="tick" text-anchor="middle" x=${m} y=${s}
    >${i}<title>${e}</title></text>`}var At=260,Ft=16,jt=7,Dt='12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif',Z=class{#r;#o;#s;#n="";#e;#t=[];constructor(e,r){this.#r=e,this.#o=r}show(e){this.#e=e;let r=De(e.x),s=xt(e.series),o=JSON.stringify([r.kind,s,e.series.map(j),e.x_label,e.y_label]),n={width:this.#r.clientWidth,height:At};o!==this.#n?this.#a(o,r,n,s):this.#s.setSize(n),this.#t=r.labels,this.#s.setData([r.values,...e.series.map(i=>je(i.data,e.x.length))])}restyle(){this.#n=""}close(){this.#s?.destroy()}#a(e,r,s,o){this.#s?.destroy(),this.#n=e,this.#t=r.labels;let{series:n,x_label:i,y_label:m}=this.#e,u={stroke:H("--muted"),font:Dt,labelFont:Dt,labelSize:18},p={stroke:H("--line"),width:1},a=Ee(this.#r);this.#s=new this.#o({...s,tzDate:c=>this.#o.tzDate(new Date(c*1e3),"UTC"),scales:{x:{time:r.kind==="time"}},legend:{show:!1},cursor:{points:{size:7},drag:{x:!0,y:!1}},series:[{},...n.map((c,h)=>Fe(c,h,o))],axes:[{...u,grid:p,ticks:p,label:i,size:r.kind==="time"?50:36,...r.kind==="names"?this.#i():{},...r.kind==="time"?{values:Te}:{},...r.kind==="numbers"?{values:Ce(i??"",this.#e.x),...Me(this.#e.x)}:{}},{...u,grid:p,ticks:{show:!1},label:m,size:56,values:(c,h)=>h.map(y=>y===null?"":S(y))}],hooks:{setCursor:[c=>a(c,this.#e)]}},[[],...n.map(()=>[])],this.#r)}#i(){let e=r=>Number.isInteger(r)?this.#t[r]??"":"";return{values:(r,s)=>s.map(o=>Ie(e(o))),incrs:[1,2,5,10,20,50,100],space:70}}},Ie=t=>t.length>Ft?`${t.slice(0,Ft-1)}\u2026`:t,Me=t=>t.every(Number.isInteger)?{incrs:Se}:{},Se=Array.from({length:14},(t,e)=>[1,2,5].map(r=>r*10**e)).flat(),Ce=(t,e)=>{let r=C(t,e);return(s,o)=>o.map(n=>n===null?"":r(n))},ke=new Intl.DateTimeFormat(G.locale??"en-GB",{timeStyle:"short",timeZone:"UTC"}),Et=new Intl.DateTimeFormat(G.locale??"en-GB",{day:"numeric",month:"short",timeZone:"UTC"}),Oe=new Intl.DateTimeFormat(G.locale??"en-GB",{month:"short",timeZone:"UTC"}),et=86400;function Te(t,e,r,s,o){let[n,i]=Pe(o),m;return e.map(u=>{let p=new Date(u*1e3),a=i(p),c=a===m?"":`
${a}`;return m=a,`${n(p)}${c}`})}function Pe(t){let e=r=>String(r.getUTCFullYear());return t<et?[r=>ke.format(r),r=>Et.format(r)]:t<28*et?[r=>Et.format(r),e]:t<360*et?[r=>Oe.format(r),e]:[e,()=>""]}function Fe(t,e,r){let s=H(`--s${e%8+1}`),o=r[e],n=Math.max(...r),i=o?[jt*(n+1-o),jt*o]:void 0,m=5+(n-o)*4;return{label:j(t,e),stroke:s,width:2,dash:i,points:{size:m,fill:s}}}var je=(t,e)=>Array.from({length:e},(r,s)=>t[s]===void 0?null:t[s]);function De(t){let e=s=>s.every((o,n)=>n===0||o>s[n-1]);if(t.every(s=>typeof s=="number")&&e(t))return{kind:"numbers",values:t,labels:[]};let r=t.map(String);if(r.every(q)){let s=r.map(o=>Date.parse(`${o.replace(" ","T")}${o.length>10?"Z":""}`)/1e3);if(e(s))return{kind:"time",values:s,labels:[]}}return{kind:"names",values:r.map((s,o)=>o),labels:W(r)?.labels??r}}function Ee(t){let e=document.createElement("div");return e.className="chart-tip",e.hidden=!0,(r,{x:s,series:o})=>{let{idx:n,left:i,top:m}=r.cursor;if(e.hidden=n==null||i<0,e.hidden)return;e.isConnected||r.over.append(e);let u=o.map((a,c)=>`${j(a,c)}: ${C(j(a,c),a.data)(a.data[n])}`);e.textContent=[String(s[n]).replace("T"," "),...u].join(`
`);let p=i>t.clientWidth/2;e.style.left=`${p?i-e.offsetWidth-12:i+12}px`,e.style.top=`${Math.max(0,Math.min(m-10,At-90))}px`}}var qt=(t,{isStreaming:e})=>Y(l("Line chart"),t,e,Ae(t)),Ae=O(t=>new ot(t)),Rt=[2e3,8e3,3e4],Re=new URL("./uPlot.esm-WSRWR2LN.js",import.meta.url),qe=new URL("./uPlot.min-VK4RA3HM.css",import.meta.url),rt,st=0;function Ne(){return rt??=Be().catch(t=>{throw st+=1,rt=void 0,t}),rt}async function Be(){let t=st?`?${st}`:"",[{default:e}]=await Promise.all([import(Re.href+t),ze()]);return e}function ze(){return new Promise((t,e)=>{let r=document.createElement("link");r.rel="stylesheet",r.href=qe.href,r.addEventListener("load",t),r.addEventListener("error",()=>{r.remove(),e(new Error("style sheet"))}),document.head.append(r)})}var ot=class{#r;#o=null;#s;#n=!1;constructor(e){this.#r=e}async draw(e){if(this.#s=e,this.#n)return;this.#n=!0;let r=await Ne().catch(()=>null);if(this.#n=!1,!!this.#s){if(!r){this.#l();return}this.#m(),this.#o??=new Z(this.#r,r),this.#o.show(this.#s)}}#e=0;#t=null;#a;#i=()=>this.draw(this.#s);#l(){if(clearTimeout(this.#a),this.#e<Rt.length&&(this.#a=setTimeout(this.#i,Rt[this.#e])),this.#e+=1,this.#t)return;addEventListener("online",this.#i),this.#t=document.createElement("div"),this.#t.className="chart-failed";let e=this.#r.closest("figure")?.querySelector(".chart-data");e&&(e.open=!0),this.#r.before(this.#t),this.#r.hidden=!0,k(Ge(this.#i),this.#t)}#m(){clearTimeout(this.#a),removeEventListener("online",this.#i),this.#t?.remove(),this.#t=null,this.#e=0,this.#r.hidden=!1}restyle(){this.#o?.restyle()}close(){this.#s=void 0,this.#m(),this.#o?.close(),this.#o=null}},Ge=t=>d`
  <p role="status">${_.warning} ${l("The chart could not be loaded. Its data is below.")}</p>
  <button type="button" @click=${t}>${_.again} ${l("Retry")}</button>
`;var Nt=({cards:t})=>d`
  <dl class="cards ${t.some(e=>He(Bt(e)))?"wide":""}">
    ${t.map(Ye)}
  </dl>
`,Bt=({label:t,value:e,unit:r})=>(r?mt:C(t,[e]))(e),We=t=>t.length>7,He=t=>!q(t)&&t.split(/\s/).some(e=>e.length>10),Ue=t=>t.split(/[T ]/).map(e=>d`<span class="iso">${e}</span> `),Ye=({label:t,value:e,unit:r,delta:s,tone:o})=>{let n=Bt({label:t,value:e,unit:r});return d`
    <div class="metric ${o??""}">
      <dt>${F(t)}</dt>
      <dd>
        <span class="metric-value ${We(n)?"long":""}"
          >${q(e)?Ue(e):n}</span
        >
        ${r?d`<span class="metric-unit">${F(r)}</span>`:$}
        ${s?d`<span class="metric-delta">${F(s)}</span>`:$}
      </dd>
    </div>
  `};var B=220,it=106;function zt(t,{isStreaming:e}){let{title:r,categories:s,series:o}=t,n={kind:l("Pie chart"),title:r,counted:i=>T(i,"{count} slice","{count} slices"),head:l("Category"),keys:s,series:o,isStreaming:e,named:Gt(t).map(({words:i})=>i)};return U(n,Xe(t))}var Xe=O(t=>({draw:e=>k(Ve(e),t)}));function Gt({categories:t,series:[{name:e,data:r}]}){let s=r.reduce((i,m)=>i+m,0),o=C(e,r),n=0;return r.slice(0,t.length).map((i,m)=>{let u=s?i/s:0,p=n;return n+=u,{from:p,to:n,words:`${t[m]}: ${o(i)} (${Ze(u)})`}})}var Ze=t=>t.toLocaleString("en",{style:"percent",maximumFractionDigits:t<.1?1:0}),Ve=t=>d`<svg viewBox="0 0 ${B} ${B}" width="100%" height=${B} aria-hidden="true">
    ${Gt(t).map(({from:e,to:r,words:s},o)=>x`<path class="s${o%8+1}" d=${Ke(e,r)}><title>${s}</title></path>`)}
  </svg>`;function Ke(t,e){let r=Math.min(e,t+.99999),s=r-t>.5?1:0;return`M${nt(0,0)} L${nt(t)} A${it} ${it} 0 ${s} 1 ${nt(r)} Z`}function nt(t,e=it){let r=2*Math.PI*t,s=B/2+e*Math.sin(r),o=B/2-e*Math.cos(r);return`${s.toFixed(2)} ${o.toFixed(2)}`}var Wt=(t,{isStreaming:e})=>d`
  <div class="markdown" ${ct(t.markdown,e)}></div>
  <div class="component-bar">
    <button
      type="button"
      class="quiet"
      ?disabled=${e}
      @click=${r=>ht(t.markdown,r.currentTarget)}
    >
      ${_.copy} ${l("Copy report")}
    </button>
  </div>
`;var V=260,E={top:12,right:16,bottom:30,left:52},Je=4,A=2.5,Qe=200,Ht=(t,{isStreaming:e})=>Y(l("Scatter chart"),t,e,tr(t)),tr=O(t=>({draw:e=>k(er(e,t.clientWidth),t)}));function er({x:t,series:e,x_label:r,y_label:s},o){let n=e.flatMap(({data:h})=>h.filter(y=>y!==null)),i=D(t,E.left,o-E.right),m=E.top+(s?18:0),u=V-E.bottom-(r?16:0),p=D(n.length?n:[0],u,m),a=n.length>Qe,c=(h,y)=>{let f=`s${y%8+1}`,g=h.data.slice(0,t.length).flatMap((b,w)=>b===null?[]:[{key:t[w],value:b}]);return a?x`<path class=${f}
        d=${g.map(({key:b,value:w})=>sr(i.at(b),p.at(w))).join("")}></path>`:g.map(({key:b,value:w})=>x`<circle class=${f} r=${Je} cx=${i.at(b)}
        cy=${p.at(w)}>${rr(j(h,y),b,w)}</circle>`)};return d`<svg
    viewBox="0 0 ${o} ${V}"
    width=${o}
    height=${V}
    aria-hidden="true"
  >
    ${p.ticks.map(h=>x`
        <line class="grid" x1=${E.left} x2=${o-E.right}
          y1=${p.at(h)} y2=${p.at(h)}></line>
        <text class="tick" text-anchor="end" x=${E.left-8} y=${p.at(h)+4}
          >${S(h)}</text>`)}
    ${i.ticks.map(h=>x`
        <line class="grid" x1=${i.at(h)} x2=${i.at(h)}
          y1=${m} y2=${u}></line>
        <text class="tick" text-anchor="middle" x=${i.at(h)} y=${u+18}
          >${S(h)}</text>`)}
    ${e.map(c)}
    ${s?x`<text class="axis-name" x="2" y="12">${s}</text>`:$}
    ${r?x`<text class="axis-name" text-anchor="middle"
            x=${o/2} y=${V-4}>${r}</text>`:$}
  </svg>`}var rr=(t,e,r)=>x`<title>${t}: ${P(e)}, ${P(r)}</title>`,sr=(t,e)=>`M${(t-A).toFixed(1)} ${e.toFixed(1)}a${A} ${A} 0 1 0 ${2*A} 0a${A} ${A} 0 1 0 ${-2*A} 0`;function Ut(t,e,r){let s=e.toLowerCase().split(/\s+/).filter(Boolean);return s.length?t.filter(o=>{let n=o.map((m,u)=>r[u](m)),i=[...o,...n].join(`
`).toLowerCase();return s.every(m=>i.includes(m))}):t}function Yt(t,e,r){if(e===null)return t;let s=r?-1:1;return t.toSorted((o,n)=>{let[i,m]=[o[e],n[e]];return i===null||m===null?+(i===null)-+(m===null):s*nr(i,m)})}var or=new Intl.Collator(at,{numeric:!0}),nr=(t,e)=>typeof t=="number"&&typeof e=="number"?t-e:or.compare(String(t),String(e));var R=50,ir=10,Xt=(t,{isStreaming:e})=>d`${ar(t,e)}`,ar=lt(class extends pt{#r;#o;#s="";#n=null;#e=!1;#t=0;#a;render(t,e){return this.#r=t,this.#o=e,this.#a??=J(()=>this.#i()),this.#c()}disconnected(){this.#a?.(),this.#a=void 0}reconnected(){this.#a=J(()=>this.#i())}#i(){this.setValue(this.#c())}#l(t){this.#s=t,this.#t=0,this.#i()}#m(t){let e=this.#n!==t;this.#n=e||!this.#e?t:null,this.#e=!e&&!this.#e,this.#t=0,this.#i()}#h(t){this.#t+=t,this.#i()}#c(){let{title:t,columns:e,rows:r}=this.#r,s=e.map(({key:a,label:c})=>c??a),o=r.map(a=>e.map(({key:c})=>Object.hasOwn(a,c)?a[c]:null)),n=e.map(({align:a},c)=>a==="right"||!a&&cr(o,c)),i=ut(s,o),m=Yt(Ut(o,this.#s,i),this.#n,this.#e),u=Math.ceil(m.length/R);this.#t=Math.max(0,Math.min(this.#t,u-1));let p={by:this.#n,isDown:this.#e,onSort:a=>this.#m(a),formats:i};return d`
        ${r.length>ir?mr(a=>this.#l(a)):$}
        ${ft(t??l("Table"),s,this.#p(m),n,p)}
        <div class="component-bar">
          <span class="muted" role="status">${lr(m,r)}</span>
          ${m.length>R?this.#d(m.length):$}
          ${dt(t,()=>[s,...m],this.#o)}
        </div>
      `}#p(t){return document.documentElement.classList.contains("printing")?t:t.slice(this.#t*R,(this.#t+1)*R)}#d(t){let e=this.#t*R,r=Math.min(e+R,t),s=(o,n,i)=>d`<button
          type="button"
          class="quiet"
          aria-label=${o}
          ?disabled=${!i}
          @click=${()=>this.#h(n)}
        >
          ${n<0?"\u2039":"\u203A"}
        </button>`;return d`<span class="table-pages">
        ${s(l("Previous rows"),-1,e>0)}
        <span class="muted">${P(e+1)}–${P(r)}</span>
        ${s(l("Next rows"),1,r<t)}
      </span>`}}),mr=t=>d`
  <input
    type="search"
    class="table-filter"
    placeholder=${l("Filter rows")}
    aria-label=${l("Filter rows")}
    autocomplete="off"
    @input=${({currentTarget:e})=>t(e.value)}
  />
`,lr=(t,e)=>t.length===e.length?T(e.length,"{count} row","{count} rows"):T(e.length,"{shown} of {count} row","{shown} of {count} rows",{shown:P(t.length)}),cr=(t,e)=>t.length>0&&t.every(r=>r[e]===null||typeof r[e]=="number");var Zt=({message:t},{inline:e,quoted:r})=>r(e(t));var Vt=({categories:t,series:e,x_label:r},{columns:s})=>s(r??l("Category"),t,e);var Kt=({x:t,series:e,x_label:r},{columns:s})=>s(r??"x",t,e);var Jt=({cards:t},{table:e})=>e([[l("Figure"),l("Value"),l("Change")],...t.map(({label:r,value:s,unit:o,delta:n})=>[r,[s,o].filter(i=>i||i===0).join(" "),n])]);var Qt=({categories:t,series:e},{columns:r})=>r(l("Category"),t,e);var te=({markdown:t})=>t;var ee=({x:t,series:e,x_label:r},{columns:s})=>s(r??"x",t,e);var re=({columns:t,rows:e},{table:r})=>r([t.map(({key:s,label:o})=>o??s),...e.map(s=>t.map(({key:o})=>Object.hasOwn(s,o)?s[o]:null))]);var uo={alert:{schema:$t,draw:Mt,text:Zt,drawsTitle:It},bar_chart:{schema:gt,draw:Ot,text:Vt},line_chart:{schema:yt,draw:qt,text:Kt},metric_cards:{schema:bt,draw:Nt,text:Jt},pie_chart:{schema:wt,draw:zt,text:Qt},report:{schema:Lt,draw:Wt,text:te},scatter_chart:{schema:vt,draw:Ht,text:ee},table:{schema:_t,draw:Xt,text:re}};export{uo as OURS};
//# sourceMappingURL=components-IHJT5GCW.js.map
