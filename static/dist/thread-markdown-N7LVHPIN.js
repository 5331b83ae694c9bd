import{a,b,c}from"./chunk-M455ERK7.js";import"./chunk-WVKK5KPP.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-N7LVHPIN.js.map
