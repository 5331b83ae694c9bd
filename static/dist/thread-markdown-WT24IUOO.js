import{a,b}from"./chunk-PZ2ZI6WR.js";import"./chunk-BG227MII.js";import"./chunk-SNKA6PWK.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-WT24IUOO.js.map
