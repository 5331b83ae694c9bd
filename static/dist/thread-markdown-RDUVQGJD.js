import{a,b}from"./chunk-XVPXVRN3.js";import"./chunk-YNL354H3.js";import"./chunk-XLN3IS4R.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-RDUVQGJD.js.map
