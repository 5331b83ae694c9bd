import{a,b}from"./chunk-SNYPVE5Y.js";import"./chunk-A6FFJRLJ.js";import"./chunk-OGVQALJ5.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-ICE6GZUD.js.map
