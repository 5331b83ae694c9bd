import{a,b,c}from"./chunk-HUITILFX.js";import"./chunk-CAYN4DTG.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-MARZD6ZE.js.map
