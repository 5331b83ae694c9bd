import{g as e}from"./chunk-HLNBHP72.js";async function o(i){let{id:a,looksAt:r}=i.state,t=()=>i.state.id===a&&i.state.looksAt===r;for(;t()&&i.state.hasEarlier;){if(await i.earlier(),i.state.earlierFailed)return;await new Promise(e)}t()&&print()}export{o as printThread};
//# sourceMappingURL=print-2WHTKU3V.js.map
