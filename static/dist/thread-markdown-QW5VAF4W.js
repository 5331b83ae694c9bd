import{a,b}from"./chunk-2ARFJZJX.js";import"./chunk-HHNQB4LV.js";import"./chunk-SWAR4C6E.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-QW5VAF4W.js.map
