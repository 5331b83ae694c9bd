import{a,b}from"./chunk-XNWEQR2D.js";import"./chunk-ZBQBLT5S.js";import"./chunk-IHKPZB5I.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-2KVHE7L4.js.map
