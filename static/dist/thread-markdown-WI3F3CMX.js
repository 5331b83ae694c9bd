import{a,b,c}from"./chunk-L4TXNRA5.js";import"./chunk-GZPL3X6G.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-WI3F3CMX.js.map
