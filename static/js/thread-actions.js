/** What a person does in the log of a thread. */

import { BUSY } from "./editing.js";
import { loaded } from "./notice.js";
import { afterPaint } from "./paint.js";
import { textOf } from "./parts.js";
import { plural, t } from "./texts.js";

/**
 * @param {{thread, editing, questions, words, drafts, composer, follower, notice, log: HTMLElement,
 *   scroller: HTMLElement, status: HTMLElement, confirmed, onSend, onOpen}} page
 */
export function threadActions(page) {
  const { thread, editing, questions, words, drafts, composer, follower, notice, scroller } = page;
  /** The end of the thread is what happens next. */
  const goOn = () => {
    follower.pin();
    composer.focus();
  };
  const walk = async () => {
    const { VersionWalk } = await loaded(import("./version-walk.js"));
    return new VersionWalk(page);
  };
  return {
    onAnswer(callId, result) {
      goOn();
      thread.answers.answer(callId, result);
    },
    onDecide: (id, decision) => questions.decide(id, decision),
    async onAnswerInterrupts(values) {
      goOn();
      await thread.answers.answerInterrupts(values);
      if (thread.state.resuming) questions.showNext();
    },
    onEdit: (messageId) => editing.begin(messageId),
    onEditInput: (text) => editing.type(text),
    onEdited: (messageId, text) => editing.send(messageId, text),
    async onRegenerate(messageId) {
      const { messages, version } = thread.state;
      const dropped = messages.slice(messages.findIndex(({ id }) => id === messageId) + 1);
      if (dropped.length && !(await page.confirmed(questionOf(dropped), t("Regenerate")))) return;
      if (thread.busy) return notice.say(BUSY);
      goOn();
      thread.regenerate(messageId, version);
    },
    async onEarlier() {
      await thread.earlier();
      afterPaint(() => {
        if (document.activeElement === document.body) scroller.focus({ preventScroll: true });
      });
    },
    onLook: (version, message, step) =>
      notice.told(walk().then((to) => to.version(version, message, step))),
    onLookBack: () => notice.told(walk().then((to) => to.thread())),
    onExample: (text) => page.onSend(text),
    onRetry() {
      goOn();
      thread.retry();
    },
    onResume() {
      goOn();
      thread.resume();
    },
    onTakeBack: (item) => words.takeBack(item),
    onSendHeld(item) {
      goOn();
      thread.sender.sendHeld(item);
    },
    onWithdraw(message) {
      notice.told(thread.queue.withdraw(message));
      composer.focus();
    },
    onAgain: (message) => notice.told(thread.queue.again(message)),
    onSendNow(message) {
      goOn();
      notice.told(thread.sender.sendNow(message));
    },
    /** The thread is gone: what was written comes along. */
    async onNew() {
      const { text } = composer;
      const images = composer.attachments.take();
      drafts.forget(thread.state.id);
      await page.onOpen(null);
      if (text.trim() || images.length) composer.restore(text, images);
      composer.focus();
    },
  };
}

function questionOf(messages) {
  const first = messages.map(textOf).find(Boolean) ?? "";
  const quoted = first.length > 60 ? `${first.slice(0, 60)}…` : first;
  return quoted
    ? plural(
        messages.length,
        "Regenerate this reply? The message after it, “{quoted}”, stays with this version.",
        "Regenerate this reply? The {count} messages after it, from “{quoted}” on, " +
          "stay with this version.",
        { quoted },
      )
    : plural(
        messages.length,
        "Regenerate this reply? The message after it stays with this version.",
        "Regenerate this reply? The {count} messages after it stay with this version.",
      );
}
