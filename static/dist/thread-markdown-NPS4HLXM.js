import{a,b,c}from"./chunk-HXFJRV4N.js";import"./chunk-5HYX4NMV.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-NPS4HLXM.js.map
