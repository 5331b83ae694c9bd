import{a,b}from"./chunk-PEO3WRKT.js";import"./chunk-Q6U62RBK.js";import"./chunk-V44AXSGT.js";export{b as answerMarkdown,a as threadMarkdown};
//# sourceMappingURL=thread-markdown-VQ3HGSBB.js.map
