import{a,b}from"./chunk-33GZNPBD.js";import"./chunk-IUHZV5EG.js";import"./chunk-GJ43EFOR.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-W5KKBGCL.js.map
