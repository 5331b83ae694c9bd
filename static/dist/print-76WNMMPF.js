import{e}from"./chunk-OLSYKUQS.js";async function o(i){let{id:a,looksAt:r}=i.state,t=()=>i.state.id===a&&i.state.looksAt===r;for(;t()&&i.state.hasEarlier;){if(await i.earlier(),i.state.earlierFailed)return;await new Promise(e)}t()&&print()}export{o as printThread};
//# sourceMappingURL=print-76WNMMPF.js.map
