import{a,b,c}from"./chunk-QZXBOTG7.js";import"./chunk-EGVCIX4A.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-BA37TGV7.js.map
