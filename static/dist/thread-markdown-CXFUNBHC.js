import{a,b}from"./chunk-MUAAD7ST.js";import"./chunk-PV3X65UP.js";import"./chunk-GIP7WZPZ.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-CXFUNBHC.js.map
