import{a,b}from"./chunk-ZORXC442.js";import"./chunk-QXMP5SAP.js";import"./chunk-T3C5AFLL.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-IUF2ORUU.js.map
