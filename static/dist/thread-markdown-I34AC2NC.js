import{a,b,c}from"./chunk-A6QGITGT.js";import"./chunk-2BYEGEG2.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-I34AC2NC.js.map
