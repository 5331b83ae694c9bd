import{a,b,c}from"./chunk-ROSIFUPE.js";import"./chunk-3QQEK2KN.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-SDT7UZMI.js.map
