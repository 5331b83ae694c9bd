import{a,b,c}from"./chunk-GU2OFZKJ.js";import"./chunk-QD3RKVTX.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-Z5QRHNR6.js.map
