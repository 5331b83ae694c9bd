import{a,b}from"./chunk-5ZAGL4QY.js";import"./chunk-OIQN6T7I.js";import"./chunk-WK4VANEA.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-AB636CM7.js.map
