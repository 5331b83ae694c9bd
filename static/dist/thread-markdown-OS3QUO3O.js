import{a,b}from"./chunk-UAQNOSVU.js";import"./chunk-KVSNMFRI.js";import"./chunk-RNAMD6AT.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-OS3QUO3O.js.map
