import{a,b}from"./chunk-O7DZQLJX.js";import"./chunk-QTAAKYSD.js";import"./chunk-SPHVST4F.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-RTNZ3BPA.js.map
