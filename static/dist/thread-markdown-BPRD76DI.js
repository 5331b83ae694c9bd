import{a,b}from"./chunk-C2TRROPO.js";import"./chunk-2RJ27SLL.js";import"./chunk-DWHPSKYQ.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-BPRD76DI.js.map
