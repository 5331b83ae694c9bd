import{a,b}from"./chunk-F7YHZZMW.js";import"./chunk-XWQL5VOV.js";import"./chunk-KPH3BJNJ.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-QU6U7G2D.js.map
