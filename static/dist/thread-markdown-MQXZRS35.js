import{a,b}from"./chunk-E6OIEIEU.js";import"./chunk-KRGIU276.js";import"./chunk-JV6FTTEO.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-MQXZRS35.js.map
