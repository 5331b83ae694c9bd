import{a,b}from"./chunk-GL27B3WS.js";import"./chunk-SHWTQ7BJ.js";import"./chunk-HLNBHP72.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-OV4GAOFO.js.map
