import{a,b}from"./chunk-CAQUDRWG.js";import"./chunk-EKHJDHK6.js";import"./chunk-GWMYNMB6.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-VHDILZ5M.js.map
