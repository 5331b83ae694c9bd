/**
 * The images that go along with the message in the field: pasted, dropped or chosen. How they are
 * read and kept is loaded with the first of them.
 */

import { html, nothing, render } from "../vendor/lit-html/lit-html.js";
import { live } from "../vendor/lit-html/directives/live.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { icons } from "./icons.js";
import { loaded } from "./notice.js";
import { randomHex } from "./secure-context.js";
import { plural, t } from "./texts.js";

const reader = () => import("./image-reader.js");
const storage = () => import("./kept-images.js");
const sizeOf = (bytes) =>
  bytes < 1_000_000 ? `${Math.floor(bytes / 1000)} kB` : `${Math.floor(bytes / 1_000_000)} MB`;
const isFiles = ({ dataTransfer }) => [...(dataTransfer?.types ?? [])].includes("Files");

export class Attachments {
  /**
   * `{key, alt, dataUrl}`, in their order; without a `dataUrl` one is being read, of a draft from
   * where it is kept.
   */
  #items = [];
  /** Sent with a message that is not taken yet: still to be kept. */
  #sent = [];
  #kept = new Set();
  /** Keys of those that are read from where they are kept. */
  #opening = new Set();
  #limits = { types: [], max: 0, max_bytes: 0 };
  /** Why none can be sent. */
  #refusal = t("Which images the server takes is not known yet. Try again in a moment.");

  /**
   * @param {HTMLFormElement} form  with the list, the button and its file input
   * @param {{onChange, onTold, onProblem}} actions  `onTold` and `onProblem` get a sentence
   */
  constructor(form, actions) {
    /** @type {HTMLElement} */
    this.list = form.querySelector(".attachments");
    /** @type {HTMLButtonElement} */
    this.button = form.querySelector(".attach");
    /** @type {HTMLInputElement} */
    this.input = form.querySelector("input[type=file]");
    this.hint = form.querySelector(".image-limits");
    this.actions = actions;
    this.button.addEventListener("click", () => {
      if (this.#refusal) actions.onProblem(this.#refusal);
      else this.input.click();
    });
    this.input.addEventListener("change", () => {
      this.add([...this.input.files]);
      this.input.value = "";
    });
    form.addEventListener("paste", (event) => this.#paste(event));
    addEventListener("dragover", (event) => this.#drag(event, true));
    addEventListener("dragleave", (event) => !event.relatedTarget && this.#drag(event, false));
    addEventListener("drop", (event) => {
      if (!isFiles(event)) return;
      this.#drag(event, false);
      this.add([...event.dataTransfer.files]);
    });
  }

  /**
   * @param {{types: string[], max: number, max_bytes: number}} limits  of `GET /models`
   * @param {string | null} refusal  of the model in use
   */
  allow(limits, refusal) {
    this.#limits = limits;
    this.#refusal = refusal;
    this.input.accept = limits.types.join(",");
    // Not `disabled`: where nothing hovers, a press is what it says why to.
    this.button.ariaDisabled = String(refusal !== null);
    this.#tell();
  }

  /**
   * What is taken stands above the field while images are attached, chosen or dragged: nobody sees
   * a tooltip on a phone.
   */
  #tell() {
    this.hint.textContent = this.#refusal ?? this.#words();
    this.button.title = this.#refusal ?? `${t("Attach images.")} ${this.#words()}`;
  }

  get isEmpty() {
    return !this.#items.length;
  }

  get isReading() {
    return this.#items.some(({ dataUrl }) => !dataUrl);
  }

  /** All that is to be kept with the draft. */
  get all() {
    return [...this.#sent, ...this.#items].filter(
      ({ dataUrl, key }) => dataUrl || this.#opening.has(key),
    );
  }

  /** The images of the message that is sent now. */
  take() {
    const taken = this.#items;
    this.#sent = [...this.#sent, ...taken];
    this.#show([]);
    return taken;
  }

  taken() {
    this.#sent = [];
  }

  /** Images of a message that was not taken, as far as this tab has them. */
  restore(images) {
    const here = images.filter(({ dataUrl }) => dataUrl);
    this.#sent = [];
    this.#show([...here, ...this.#items]);
    if (here.length < images.length)
      this.actions.onProblem(t("Images of a message were not kept. Attach them again."));
  }

  /** Another thread is open, with the images that were kept with its draft. */
  async open(references) {
    this.#sent = [];
    this.#opening = new Set();
    this.#show(references.map(({ key, alt }) => ({ key, alt })));
    if (!references.length) return;
    const opening = new Set(references.map(({ key }) => key));
    this.#opening = opening;
    const found = new Map(
      (await this.loaded(references)).map(({ key, dataUrl }) => [key, dataUrl]),
    );
    // Another thread may have been opened meanwhile, or further images attached.
    if (this.#opening !== opening) return;
    this.#opening = new Set();
    const items = this.#items.map((item) =>
      opening.has(item.key) ? { ...item, dataUrl: found.get(item.key) } : item,
    );
    this.#show(items.filter(({ key, dataUrl }) => dataUrl || !opening.has(key)));
    this.actions.onChange();
    if (found.size < references.length)
      this.actions.onProblem(t("Images of this draft were not kept. Attach them again."));
  }

  /** Those that the browser still has. */
  async loaded(references) {
    const found = await (
      await storage()
    )
      .loaded(references.map(({ key }) => key))
      .catch(() => new Map());
    for (const key of found.keys()) this.#kept.add(key);
    return references.flatMap(({ key, alt }) =>
      found.has(key) ? [{ key, alt, dataUrl: found.get(key) }] : [],
    );
  }

  /** Keep the images in the browser; those that no words need any more are forgotten. */
  async keep(images) {
    const fresh = images.filter(({ key, dataUrl }) => dataUrl && !this.#kept.has(key));
    if (!fresh.length && !this.#kept.size) return;
    const { keep, forgetUnused } = await storage();
    for (const { key } of fresh) this.#kept.add(key);
    // Without a database, or room in it, they are on the page alone.
    await keep(fresh)
      .then(forgetUnused)
      .catch(() => {});
    if (!images.length) this.#kept.clear();
  }

  /** @param {File[]} files */
  async add(files) {
    if (this.#refusal) return this.actions.onProblem(this.#refusal);
    const room = this.#limits.max - this.#items.length;
    if (files.length > room)
      this.actions.onProblem(
        plural(
          this.#limits.max,
          "A message takes {count} image at most.",
          "A message takes {count} images at most.",
        ),
      );
    const added = files
      .slice(0, Math.max(0, room))
      .map((file) => ({ key: randomHex(32), alt: file.name.slice(0, 200), file }));
    this.#show([...this.#items, ...added]);
    for (const { key, file } of added) await this.#read(key, file);
    return undefined;
  }

  async #read(key, file) {
    try {
      const { readImage } = await reader();
      const dataUrl = await readImage(file, this.#limits.types);
      const size = this.#items.reduce(
        (bytes, item) => bytes + (item.dataUrl?.length ?? 0),
        dataUrl.length,
      );
      if (size > this.#limits.max_bytes)
        throw new Error(`${t("“{file}” is too much.", { file: file.name })} ${this.#words()}`);
      this.#change(key, { dataUrl, file: undefined });
      this.actions.onTold(t("Attached {file}", { file: file.name }));
    } catch (error) {
      this.#show(this.#items.filter((item) => item.key !== key));
      this.actions.onProblem(error.message);
    }
    this.actions.onChange();
  }

  #words() {
    const { types, max, max_bytes: bytes } = this.#limits;
    const kinds = types.map((type) => type.replace("image/", "").toUpperCase()).join(", ");
    const count = this.isEmpty
      ? plural(max, "Up to {count} image", "Up to {count} images")
      : plural(max, "{number} of {count} image", "{number} of {count} images", {
          number: this.#items.length,
        });
    return `${count}: ${kinds}, ${t("{size} in all", { size: sizeOf(bytes) })}`;
  }

  /** Text that comes along is what was meant: spreadsheets put a picture of it beside it. */
  #paste(event) {
    const { files, types } = event.clipboardData;
    if (!files.length || types.includes("text/plain")) return;
    event.preventDefault();
    this.add([...files]);
  }

  #drag(event, isOver) {
    if (!isFiles(event)) return;
    event.preventDefault();
    document.body.classList.toggle("dropping", isOver);
  }

  #change(key, changes) {
    this.#show(this.#items.map((item) => (item.key === key ? { ...item, ...changes } : item)));
  }

  #remove(key) {
    this.#show(this.#items.filter((item) => item.key !== key));
    this.actions.onChange();
    this.button.focus();
  }

  #show(items) {
    this.#items = items;
    this.list.hidden = !items.length;
    this.#tell();
    render(
      repeat(
        items,
        ({ key }) => key,
        (item, index) => this.#chip(item, index),
      ),
      this.list,
    );
  }

  #chip({ key, alt, dataUrl }, index) {
    const describe = ({ target }) => {
      this.#items = this.#items.map((item) =>
        item.key === key ? { ...item, alt: target.value } : item,
      );
      this.actions.onChange();
    };
    return html`<li class="attachment">
      ${
        dataUrl
          ? html`<img src=${dataUrl} alt="" />`
          : html`<span class="skeleton" role="img" aria-label=${t("Being read")}></span>`
      }
      <input
        type="text"
        maxlength="1000"
        aria-label=${t("Description of image {number}", { number: index + 1 })}
        placeholder=${t("Describe it")}
        .value=${live(alt)}
        @input=${describe}
        @keydown=${(event) => event.key === "Enter" && event.preventDefault()}
      />
      <button
        type="button"
        class="icon-button"
        aria-label=${t("Remove image {number}", { number: index + 1 })}
        title=${t("Remove")}
        @click=${() => this.#remove(key)}
      >
        ${icons.cross}
      </button>
    </li>`;
  }
}

/** The images of a message that was sent, as the field has them. */
export const imagesFrom = (parts) =>
  parts
    .filter(({ type }) => type === "image")
    .map(({ image, alt = "" }) => ({ key: randomHex(16), alt, dataUrl: image }));

/** The images of a message, as parts of a body. */
export const imageParts = (images = []) =>
  images
    .filter(({ dataUrl }) => dataUrl)
    .map(({ dataUrl, alt }) => ({
      type: "image",
      image: dataUrl,
      ...(alt?.trim() ? { alt: alt.trim() } : {}),
    }));

/** Only what the page itself holds: any other address is text. */
const isHeld = (address) => /^data:image\/(png|jpeg|gif|webp);/i.test(address);

const enlarge = async ({ currentTarget }) => {
  const [picture] = currentTarget.children;
  (await loaded(import("./image-viewer.js"))).show(picture.src, picture.alt);
};

/** Images of a message that was said. */
export const imagesView = (images) =>
  images.length
    ? html`<div class="images">
        ${images.map(({ image, alt }) =>
          isHeld(image)
            ? html`<button
                type="button"
                class="enlarge"
                title=${alt ? t("{name}: enlarge", { name: alt }) : t("Enlarge")}
                @click=${enlarge}
              >
                <img class="sent-image" src=${image} alt=${alt || t("Image")} />
              </button>`
            : html`<p class="no-image">
                ${t("Image:")} ${alt ? `${alt}, ` : ""}${image.slice(0, 200)}
              </p>`,
        )}
      </div>`
    : nothing;
