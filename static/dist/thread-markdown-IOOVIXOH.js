import{a,b}from"./chunk-B743NLS3.js";import"./chunk-X4GYEZLE.js";import"./chunk-TMD7C2X4.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-IOOVIXOH.js.map
