import{a,b}from"./chunk-6NMQ7AVW.js";import"./chunk-4GTAY4BI.js";import"./chunk-QPPZ2MNQ.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-F7G4M7OG.js.map
