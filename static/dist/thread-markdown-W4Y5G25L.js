import{a,b,c}from"./chunk-E3WCCTJL.js";import"./chunk-EUGV3EQZ.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-W4Y5G25L.js.map
