{let e=localStorage.getItem("theme");(e==="light"||e==="dark")&&(document.documentElement.dataset.theme=e)}
//# sourceMappingURL=theme-boot-BEYSLGSF.js.map
