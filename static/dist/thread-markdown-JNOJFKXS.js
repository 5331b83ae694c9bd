import{a,b}from"./chunk-MMEMZ5HG.js";import"./chunk-LBKFAZYE.js";import"./chunk-H4VJ2P7O.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-JNOJFKXS.js.map
