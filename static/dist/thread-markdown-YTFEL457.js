import{a,b}from"./chunk-L7OS2M3I.js";import"./chunk-L22S4VAV.js";import"./chunk-4FIWMTQG.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-YTFEL457.js.map
