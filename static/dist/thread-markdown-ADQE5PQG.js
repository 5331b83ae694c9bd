import{a,b}from"./chunk-EIYCCY6P.js";import"./chunk-3ZBCCR3F.js";import"./chunk-HRCHR5VR.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-ADQE5PQG.js.map
