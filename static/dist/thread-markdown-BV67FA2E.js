import{a,b,c}from"./chunk-KBPVU4JZ.js";import"./chunk-AYXK2YTA.js";export{b as answerMarkdown,c as propsText,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-BV67FA2E.js.map
