import{B as e}from"./chunk-4FIWMTQG.js";async function r(t){let{id:a,looksAt:s}=t.state,i=()=>t.state.id===a&&t.state.looksAt===s;for(;i()&&t.state.hasEarlier;){if(await t.earlier(),t.state.earlierFailed)return;await new Promise(e)}i()&&print()}export{r as printThread};
//# sourceMappingURL=print-NI7KBF2E.js.map
