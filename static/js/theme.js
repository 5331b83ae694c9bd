/** Light, dark, or as the system says. */

const NEXT = { auto: "light", light: "dark", dark: "auto" };
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

export const currentTheme = () => document.documentElement.dataset.theme ?? "auto";

export function nextTheme() {
  const theme = NEXT[currentTheme()];
  if (theme === "auto") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("theme");
  } else {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("theme", theme);
  }
  for (const listener of listeners) listener();
}

/** Paper is light, whatever the screen is. */
export function lighten(isPrinting) {
  document.documentElement.classList.toggle("printing", isPrinting);
  for (const listener of listeners) listener();
}

/** For what is drawn with colours that CSS cannot reach; returns how to leave off. */
export function onTheme(listener) {
  listeners.add(listener);
  system.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    system.removeEventListener("change", listener);
  };
}

/** A CSS variable's colour as the browser computes it. */
export function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
