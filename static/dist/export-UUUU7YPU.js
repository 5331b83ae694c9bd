import{a as i}from"./chunk-ROSIFUPE.js";import{E as a,F as r,f as e,v as p}from"./chunk-3QQEK2KN.js";var f=o=>({...o,parts:p(o)});async function x({id:o,looksAt:m},n){let s=await e(o,m),{title:t,messages:d}=JSON.parse(s);n==="json"?r(a(t,"json"),"application/json",s):r(a(t,"md"),"text/markdown",i({title:t,messages:d.map(f)}))}export{x as exportThread};
//# sourceMappingURL=export-UUUU7YPU.js.map
