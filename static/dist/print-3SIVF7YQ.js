import{G as e}from"./chunk-USGA5I56.js";async function r(t){let{id:a,looksAt:s}=t.state,i=()=>t.state.id===a&&t.state.looksAt===s;for(;i()&&t.state.hasEarlier;){if(await t.earlier(),t.state.earlierFailed)return;await new Promise(e)}i()&&print()}export{r as printThread};
//# sourceMappingURL=print-3SIVF7YQ.js.map
