import{a,b}from"./chunk-2NIQJCH3.js";import"./chunk-WETKWWZY.js";import"./chunk-L7YJVVZ7.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-25DVMBJK.js.map
