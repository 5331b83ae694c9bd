import{a,b,c}from"./chunk-EUZSEDNQ.js";import"./chunk-ETRJ4FQA.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-525PFZB2.js.map
