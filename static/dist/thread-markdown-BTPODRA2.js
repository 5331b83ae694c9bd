import{a,b}from"./chunk-ONME3HHD.js";import"./chunk-IRSE6MNP.js";import"./chunk-QVGNRCES.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-BTPODRA2.js.map
