import{a,b,c}from"./chunk-46GUVK5U.js";import"./chunk-4VZOYPHR.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-EMDYSOXX.js.map
