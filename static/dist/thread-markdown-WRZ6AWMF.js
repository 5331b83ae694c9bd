import{a,b,c}from"./chunk-YVF42ONL.js";import"./chunk-PCANCWXA.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-WRZ6AWMF.js.map
