import{a,b}from"./chunk-I6V5OVBA.js";import"./chunk-MX5VT62R.js";import"./chunk-KB55UDKX.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-BXSVHG72.js.map
