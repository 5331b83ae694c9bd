import{G as e}from"./chunk-M4GWSJLF.js";async function r(t){let{id:a,looksAt:s}=t.state,i=()=>t.state.id===a&&t.state.looksAt===s;for(;i()&&t.state.hasEarlier;){if(await t.earlier(),t.state.earlierFailed)return;await new Promise(e)}i()&&print()}export{r as printThread};
//# sourceMappingURL=print-6YZOQESU.js.map
