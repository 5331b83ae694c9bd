import{a,b}from"./chunk-F74SPB6U.js";import"./chunk-YJAGL3OJ.js";import"./chunk-Z6LOEG2Z.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-JZRYUVZC.js.map
