// The chat on a page of another site, by one script element: docs/branding.md, "On another site".
{
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  const chat = new URL(".", script.src).href;
  const { label = "Chat", closeLabel = "Close", side = "right" } = script.dataset;
  const PANEL = "turnstream-panel";

  const STYLES = `
    :host { all: initial; font: 16px/1.4 system-ui, sans-serif; color-scheme: light dark; }
    .opener, .panel {
      position: fixed; z-index: 2147483000; ${side === "left" ? "left" : "right"}: 20px;
    }
    .opener {
      bottom: 20px; min-width: 56px; min-height: 56px; padding: 0 20px; border: 0;
      border-radius: 28px; background: var(--turnstream-accent, #0b6b64);
      color: var(--turnstream-on-accent, #fff); font: inherit; font-weight: 600; cursor: pointer;
      box-shadow: 0 4px 16px rgb(0 0 0 / 0.25);
    }
    .panel {
      bottom: 88px; display: flex; flex-direction: column; width: min(400px, 100vw - 40px);
      height: min(640px, 100dvh - 108px); overflow: hidden; border: 1px solid #8d877c;
      border-radius: 16px; background: light-dark(#fff, #16181b);
      color: light-dark(#20242a, #e7e8ea);
      box-shadow: 0 8px 32px rgb(0 0 0 / 0.3);
    }
    .panel[hidden] { display: none; }
    .head {
      display: flex; align-items: center; justify-content: space-between; padding: 0 4px 0 16px;
    }
    .head button {
      min-width: 44px; min-height: 44px; border: 0; background: none; color: inherit;
      font: inherit; cursor: pointer;
    }
    :focus-visible { outline: 2px solid var(--turnstream-accent, #0b6b64); outline-offset: 2px; }
    iframe { flex: 1; width: 100%; border: 0; }
    @media (max-width: 480px) {
      .panel { inset: 0; width: auto; height: auto; border: 0; border-radius: 0; }
      .panel:not([hidden]) + .opener { display: none; }
    }
    @media print { .opener, .panel { display: none; } }
  `;

  /**
   * @param {string} name @param {Record<string, string>} attributes
   * @param {(Node | string)[]} inner
   */
  const element = (name, attributes, ...inner) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inner);
    return made;
  };

  const opener = element(
    "button",
    { type: "button", class: "opener", part: "opener", "aria-controls": PANEL },
    label,
  );
  const closer = element("button", { type: "button", "aria-label": closeLabel }, "✕");
  const panel = element(
    "div",
    { id: PANEL, class: "panel", part: "panel", role: "dialog", "aria-label": label },
    element("div", { class: "head" }, element("strong", {}, label), closer),
  );
  /** @type {HTMLIFrameElement | undefined} */
  let frame;

  /** @param {boolean} isOpen */
  const show = (isOpen) => {
    panel.hidden = !isOpen;
    opener.setAttribute("aria-expanded", String(isOpen));
    if (isOpen && !frame) {
      frame = /** @type {HTMLIFrameElement} */ (
        element("iframe", { src: chat, title: label, allow: "clipboard-write" })
      );
      panel.append(frame);
    }
  };
  const close = () => {
    show(false);
    opener.focus();
  };
  opener.addEventListener("click", () => {
    show(Boolean(panel.hidden));
    if (!panel.hidden) frame?.focus();
  });
  closer.addEventListener("click", close);
  panel.addEventListener("keydown", ({ key }) => key === "Escape" && close());
  // The chat's own page has let Escape go.
  addEventListener("message", ({ source, data }) => {
    if (frame && source === frame.contentWindow && data === "turnstream:escape") close();
  });

  const host = element("div", { class: "turnstream-widget" });
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLES);
  root.adoptedStyleSheets = [sheet];
  root.append(panel, opener);
  show("open" in script.dataset);
  const add = () => document.body.append(host);
  if (document.body) add();
  else addEventListener("DOMContentLoaded", add);
}
