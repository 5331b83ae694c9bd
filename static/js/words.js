/**
 * Words that are not sent, between the page and the browser that keeps them: drafts and messages that
 * wait, with their images.
 */

import { isWhole } from "./outbox.js";

const LOST = "Images of a message were not kept: it was not sent. Attach them again.";

export class Words {
  #heard = Promise.resolve();

  /** @param {{drafts, composer, thread, told}} page */
  constructor(page) {
    this.page = page;
  }

  /**
   * It is known who writes: from now on words are kept, and those of an earlier visit come back.
   *
   * @param {(id: string | null) => void} show  what was written in a thread
   */
  start(owner, show) {
    const { drafts, composer, thread } = this.page;
    if (drafts.isOpen) return;
    const { id, outbox } = thread.state;
    drafts.start(owner);
    if (composer.isEmpty) show(id);
    else this.keepDraft(id, composer.text, composer.attachments.all);
    if (!outbox.length) this.#takeWaiting(id);
  }

  keepDraft(id, draft, images) {
    this.page.drafts.keep(id, { draft, images });
    this.#keepImages(images);
  }

  keepOutbox(id, outbox, before) {
    this.page.drafts.keepOutbox(id, outbox, before);
    this.#keepImages(imagesOf(outbox));
  }

  /** Open a thread with the messages that wait in it; those with images follow. */
  opened(id, version) {
    const { drafts, thread } = this.page;
    const { outbox } = drafts.of(id);
    const isBare = !imagesOf(outbox).length;
    const loaded = thread.open(id, isBare ? outbox : [], version);
    if (!isBare) this.#takeWaiting(id);
    return loaded;
  }

  /** Another tab has changed what waits in a thread. */
  changedElsewhere(id, before, after) {
    const { thread } = this.page;
    this.#heard = this.#heard.then(async () => {
      const items = id === thread.state.id ? await this.#withImages(after) : [];
      if (id === thread.state.id) thread.changedElsewhere(before, items);
    });
  }

  /** Another tab has deleted a thread, and what waited in it. */
  async deletedElsewhere(id, waiting) {
    const { thread } = this.page;
    const items = await this.#withImages(waiting);
    if (id === thread.state.id) thread.deletedElsewhere(items);
  }

  /** A message that waits goes back to the field. */
  takeBack(item) {
    const { composer, thread } = this.page;
    thread.withdraw(item);
    composer.restore(item.text, item.images);
    composer.focus();
  }

  /** Those of an earlier visit; one whose images are lost is not sent. */
  async #takeWaiting(id) {
    const { drafts, composer, thread, told } = this.page;
    const { outbox } = drafts.of(id);
    const items = await this.#withImages(outbox);
    if (thread.state.id !== id) return;
    const whole = items.filter(isWhole);
    for (const { text, images } of items.filter((item) => !isWhole(item))) {
      composer.restore(text, images.filter(({ dataUrl }) => dataUrl));
      told(Promise.reject(new Error(LOST)));
    }
    if (whole.length < outbox.length) drafts.keepOutbox(id, whole, outbox);
    thread.take(whole);
  }

  /** Messages that wait, with the images that they came with, as far as the browser has them. */
  async #withImages(items) {
    if (!imagesOf(items).length) return items;
    const found = await this.page.composer.attachments.loaded(imagesOf(items));
    const byKey = new Map(found.map((image) => [image.key, image]));
    return items.map((item) => ({ ...item, images: item.images?.map((image) => byKey.get(image.key) ?? image) }));
  }

  /** Their words are kept before: images that no words name are forgotten. */
  #keepImages(images) {
    const { drafts, composer } = this.page;
    if (drafts.isOpen) composer.attachments.keep(images);
  }
}

const imagesOf = (items) => items.flatMap(({ images }) => images ?? []);
