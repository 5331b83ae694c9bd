import{a,b}from"./chunk-HJ5SBBX5.js";import"./chunk-7I2L2FCR.js";import"./chunk-RGKJQRQ3.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-F4XH5YRS.js.map
