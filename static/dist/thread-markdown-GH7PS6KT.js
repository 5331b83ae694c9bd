import{a,b,c}from"./chunk-LCFTXSIG.js";import"./chunk-SWYYCNSK.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-GH7PS6KT.js.map
