/**
 * Words that are not sent, between the page and the browser that keeps them: drafts and messages
 * that wait, with their images.
 */

import { isFor, isWhole } from "./outbox.js";
import { t } from "./texts.js";

const LOST = t("Images of a message were not kept: it was not sent. Attach them again.");

export class Words {
  #heard = Promise.resolve();
  /** Aborted when a thread is opened that is not new. */
  #leaving = new AbortController();

  /** @param {{drafts, composer, thread, notice}} page */
  constructor(page) {
    this.page = page;
  }

  /**
   * It is known who writes: from now on words are kept, and those of an earlier visit come back.
   *
   * @param {(id: string | null, typed: string) => void} show  what was written in a thread, and
   *   what is typed
   */
  start(owner, show) {
    const { drafts, composer, thread } = this.page;
    if (drafts.isOpen) return;
    const { id } = thread.state;
    const typed = composer.text;
    drafts.start(owner, id);
    show(id, typed);
    if (typed) this.keepDraft(id, composer.text, composer.attachments.all);
    this.#takeWaiting(id);
  }

  keepDraft(id, draft, images) {
    this.page.drafts.keep(id, { draft, images });
    this.#keepImages(images);
  }

  keepOutbox(id, outbox, before) {
    const isKept = this.page.drafts.keepOutbox(id, outbox, before);
    this.#keepImages(imagesOf(outbox));
    return isKept;
  }

  /**
   * Open a thread with the messages that wait in it; those with images follow. One that is on its
   * way waits in the thread that is left, where it may have come through.
   */
  opened(id, version) {
    const { drafts, thread } = this.page;
    thread.sender.pause();
    if (id !== null) {
      this.#leaving.abort();
      this.#leaving = new AbortController();
    }
    const { outbox } = drafts.of(id);
    const isBare = !imagesOf(outbox).length;
    const loaded = thread.open(id, isBare ? outbox : [], version);
    if (!isBare || id === null) this.#takeWaiting(id);
    return loaded;
  }

  /** Another tab has changed what waits in a thread. */
  changedElsewhere(id, before, after) {
    const { thread } = this.page;
    this.#heard = this.#heard.then(async () => {
      const isHere = () =>
        id === thread.state.id || (thread.state.id === null && thread.state.outbox.some(isFor(id)));
      const items = isHere() ? await this.#withImages(after) : [];
      if (isHere()) thread.sender.changedElsewhere(before, items);
    });
  }

  /** Another tab has deleted a thread, and what waited in it. */
  async deletedElsewhere(id, waiting) {
    const { thread } = this.page;
    const items = await this.#withImages(waiting);
    if (id === thread.state.id) thread.sender.deletedElsewhere(items);
  }

  /** A message that waits goes back to the field. */
  takeBack(item) {
    const { composer, thread } = this.page;
    thread.sender.withdraw(item);
    composer.restore(item.text, item.images);
    composer.focus();
  }

  /** Those of an earlier visit, or of a tab that was closed. */
  #takeWaiting(id) {
    const { drafts } = this.page;
    if (id !== null) this.#take(id, id);
    else for (const from of drafts.notBegun) this.#takeOver(from, this.#leaving.signal);
  }

  async #takeOver(id, signal) {
    const isMine = await this.page.drafts.own(id, signal).then(
      () => true,
      () => false,
    );
    if (isMine) this.#take(null, id);
  }

  /** One whose images are lost is not sent. */
  async #take(id, from) {
    const { drafts, composer, thread, notice } = this.page;
    const { outbox, isNew } = drafts.of(from);
    if (id === null && !isNew) return;
    const items = await this.#withImages(outbox);
    if (thread.state.id !== id) return;
    const whole = items.filter(isWhole);
    for (const { text, images } of items.filter((item) => !isWhole(item))) {
      composer.restore(
        text,
        images.filter(({ dataUrl }) => dataUrl),
      );
      notice.say(LOST);
    }
    if (whole.length < outbox.length) drafts.keepOutbox(id, whole, outbox);
    thread.sender.take(whole);
  }

  /** Messages that wait, with the images that they came with, as far as the browser has them. */
  async #withImages(items) {
    if (!imagesOf(items).length) return items;
    const found = await this.page.composer.attachments.loaded(imagesOf(items));
    const byKey = new Map(found.map((image) => [image.key, image]));
    return items.map((item) => ({
      ...item,
      images: item.images?.map((image) => byKey.get(image.key) ?? image),
    }));
  }

  /** Their words are kept before: images that no words name are forgotten. */
  #keepImages(images) {
    const { drafts, composer } = this.page;
    if (drafts.isOpen) composer.attachments.keep(images);
  }
}

const imagesOf = (items) => items.flatMap(({ images }) => images ?? []);
