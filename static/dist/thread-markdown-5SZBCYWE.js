import{a,b}from"./chunk-2Y4BJGTR.js";import"./chunk-REUFSMFS.js";import"./chunk-5RUZAZSV.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-5SZBCYWE.js.map
