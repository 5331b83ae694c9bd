/**
 * Keeps what is ticked and typed in the forms of a thread, so that a reload or another thread in
 * between takes none of it. A form that is kept has `data-keep`, a name that is its own.
 */

const MAX_FORMS = 20;

export class FormKeeper {
  #log;
  #forms = {};
  #seen = new WeakSet();
  /** By name, the form that has it. */
  #shown = new Map();
  #isRestoring = false;

  /** @param {HTMLElement} log @param {(forms: Record<string, any>) => void} onChange */
  constructor(log, onChange) {
    this.#log = log;
    this.onChange = onChange;
    for (const type of ["input", "change"])
      log.addEventListener(type, ({ target }) => this.#changed(target));
  }

  /** Another thread is open, whose forms were left like this. */
  open(forms) {
    this.#forms = forms;
    this.#seen = new WeakSet();
    this.#shown.clear();
  }

  /** The same thread was painted in another version: its forms are others. */
  again() {
    this.open(this.#forms);
  }

  /** The server has the answers of these forms: the same may be asked anew. */
  forget(names) {
    this.#set(Object.entries(this.#forms).filter(([name]) => !names.includes(name)));
  }

  /** After a painting; `isWhole`: what is not there now has been answered. */
  restore(isWhole) {
    const forms = [...this.#log.querySelectorAll("form[data-keep]")];
    for (const form of forms) this.#restoreOnce(form);
    const names = Object.keys(this.#forms);
    const left = names.filter((name) => forms.some((form) => form.dataset.keep === name));
    if (isWhole && left.length < names.length)
      this.#set(left.map((name) => [name, this.#forms[name]]));
  }

  #changed(target) {
    const form = target.closest?.("form[data-keep]");
    if (!form || this.#isRestoring) return;
    const others = Object.entries(this.#forms).filter(([name]) => name !== form.dataset.keep);
    this.#set([...others, [form.dataset.keep, fieldsOf(form).map(valueOf)]].slice(-MAX_FORMS));
  }

  #restoreOnce(form) {
    if (this.#seen.has(form)) return;
    const name = form.dataset.keep;
    // The form before it was answered: the same is asked anew.
    const isAnew = this.#shown.has(name) && this.#shown.get(name) !== form;
    this.#shown.set(name, form);
    const values = isAnew ? undefined : this.#forms[name];
    const fields = fieldsOf(form);
    // Until its tool is known, a form has not all of its fields.
    if (values && values.length !== fields.length) return;
    this.#seen.add(form);
    if (!values) return;
    this.#isRestoring = true;
    fields.forEach((field, index) => put(field, values[index]));
    this.#isRestoring = false;
  }

  #set(entries) {
    this.#forms = Object.fromEntries(entries);
    this.onChange(this.#forms);
  }
}

const fieldsOf = (form) =>
  [...form.elements].filter((field) => field.matches("input, textarea, select"));
const isTicked = ({ type }) => type === "radio" || type === "checkbox";
const valueOf = (field) => (isTicked(field) ? field.checked : field.value);

/** The form hears of it as of an input. */
function put(field, value) {
  if (valueOf(field) === value) return;
  if (isTicked(field)) field.checked = value;
  else field.value = value;
  for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
}
