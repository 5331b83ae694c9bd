import{a,b}from"./chunk-6F7G2QCB.js";import"./chunk-XNXXJYLP.js";import"./chunk-BSXFHOMX.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-5RZ5ALM4.js.map
