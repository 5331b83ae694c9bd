import{a,b}from"./chunk-4JCYVBBT.js";import"./chunk-7FU6LTFE.js";import"./chunk-J722TXZK.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-Y5ZSVOVC.js.map
