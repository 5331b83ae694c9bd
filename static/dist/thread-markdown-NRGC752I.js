import{a,b}from"./chunk-DJKSACA7.js";import"./chunk-DN6EUFNB.js";import"./chunk-U6ZQG4QY.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-NRGC752I.js.map
