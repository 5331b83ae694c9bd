/** The panels at both sides: columns where there is room, drawers over the page on a phone. */

const NARROW = matchMedia("(max-width: 760px)");

/** There is room for one of them. */
const BESIDE = { inspector: "approvals", approvals: "inspector" };
const OPENERS = { threads: "menu", inspector: "inspect", approvals: "approve" };

export class Panels {
  #panels;
  #onChange;

  /** @param {{threads, inspector, approvals: HTMLElement}} panels @param {() => void} onChange */
  constructor(panels, onChange) {
    this.#panels = panels;
    this.#onChange = onChange;
    this.#place();
    NARROW.addEventListener("change", () => {
      this.#place();
      this.#onChange();
    });
    document.getElementById("backdrop").addEventListener("click", () => this.closeDrawer());
  }

  isOpen(name) {
    return !this.#panels[name].hidden;
  }

  toggle(name) {
    this.show(name, !this.isOpen(name));
  }

  show(name, isOpen) {
    const panel = this.#panels[name];
    panel.hidden = !isOpen;
    const other = BESIDE[name];
    if (isOpen && other && this.isOpen(other)) this.show(other, false);
    if (!NARROW.matches) localStorage.setItem(`panel-${name}`, isOpen ? "open" : "closed");
    this.#drawer();
    this.#onChange();
    // What is in it may be loaded only now.
    if (isOpen && NARROW.matches) (panel.querySelector("a, button") ?? panel).focus();
  }

  /** On a phone; says whether there was one to close. */
  closeDrawer() {
    if (!NARROW.matches) return false;
    const open = Object.keys(this.#panels).filter((name) => this.isOpen(name));
    for (const name of open) this.show(name, false);
    for (const name of open) document.getElementById(OPENERS[name])?.focus();
    return open.length > 0;
  }

  #place() {
    const kept = (name, otherwise) =>
      (localStorage.getItem(`panel-${name}`) ?? otherwise) === "open";
    this.#panels.threads.hidden = NARROW.matches || !kept("threads", "open");
    this.#panels.inspector.hidden = NARROW.matches || !kept("inspector", "closed");
    this.#panels.approvals.hidden = true;
    this.#drawer();
  }

  /** Behind an open drawer nothing can be reached. */
  #drawer() {
    const isOver = NARROW.matches && Object.keys(this.#panels).some((name) => this.isOpen(name));
    document.getElementById("main").inert = isOver;
    document.getElementById("backdrop").hidden = !isOver;
    document.getElementById("menu").ariaExpanded = String(this.isOpen("threads"));
  }
}
