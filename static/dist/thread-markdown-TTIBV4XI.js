import{a,b,c}from"./chunk-PMW5BTGU.js";import"./chunk-ATOIZLS4.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-TTIBV4XI.js.map
