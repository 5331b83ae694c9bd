import{a,b}from"./chunk-5BCNQIBQ.js";import"./chunk-B2AAQO64.js";import"./chunk-H6G4MD3N.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-PJA4XTKL.js.map
