import{a,b}from"./chunk-B6T46W5K.js";import"./chunk-5LTKTQTZ.js";import"./chunk-OXNTKRIX.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-2YG2BWGQ.js.map
