import{a,b}from"./chunk-NNGKVO7M.js";import"./chunk-HGZTXMVQ.js";import"./chunk-TBZ5EMRY.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-DA7UVX2Q.js.map
