import{a,b}from"./chunk-FZKDPHCR.js";import"./chunk-VQS3ODOB.js";import"./chunk-USGA5I56.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-X7LUAVT5.js.map
