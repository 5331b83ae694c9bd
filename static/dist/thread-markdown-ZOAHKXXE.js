import{a,b,c}from"./chunk-UX77UALZ.js";import"./chunk-N5D3YHSQ.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-ZOAHKXXE.js.map
