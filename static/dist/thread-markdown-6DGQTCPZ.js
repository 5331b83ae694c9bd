import{a,b}from"./chunk-I6MZ5KPP.js";import"./chunk-3DIN7AIY.js";import"./chunk-KFL3TE2Y.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-6DGQTCPZ.js.map
