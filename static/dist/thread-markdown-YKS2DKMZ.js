import{a,b,c}from"./chunk-3N3ONOWK.js";import"./chunk-WIB6F4HW.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-YKS2DKMZ.js.map
