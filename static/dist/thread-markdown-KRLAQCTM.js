import{a,b}from"./chunk-SQFDWUH5.js";import"./chunk-BMIINI6J.js";import"./chunk-JN537KLZ.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-KRLAQCTM.js.map
