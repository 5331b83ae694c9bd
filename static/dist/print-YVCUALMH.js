import{C as e}from"./chunk-SNKA6PWK.js";async function r(t){let{id:a,looksAt:s}=t.state,i=()=>t.state.id===a&&t.state.looksAt===s;for(;i()&&t.state.hasEarlier;){if(await t.earlier(),t.state.earlierFailed)return;await new Promise(e)}i()&&print()}export{r as printThread};
//# sourceMappingURL=print-YVCUALMH.js.map
