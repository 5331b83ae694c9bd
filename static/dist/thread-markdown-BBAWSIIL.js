import{a,b}from"./chunk-6J6U4PPW.js";import"./chunk-NYQG4FJX.js";import"./chunk-M4GWSJLF.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-BBAWSIIL.js.map
