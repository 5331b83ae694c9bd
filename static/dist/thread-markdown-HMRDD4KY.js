import{a,b}from"./chunk-E3RJIRLU.js";import"./chunk-IA4LF23I.js";import"./chunk-ML4CQW65.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-HMRDD4KY.js.map
