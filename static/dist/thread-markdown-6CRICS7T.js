import{a,b}from"./chunk-EHDEMAZP.js";import"./chunk-PTOPHSDL.js";import"./chunk-OLSYKUQS.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-6CRICS7T.js.map
