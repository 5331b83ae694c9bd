/**
 * A scroller that follows its content's end, and yields to a person.
 *
 * Positions alone cannot tell a person from a layout change, so only real input lets go: wheel,
 * touch, keys, the scrollbar. Coming down to near the end takes hold again. No clock is asked: a
 * busy browser may scroll long after the input.
 *
 * When a message is sent, it goes to the top, and its answer grows below it: until that fills the
 * rest of what is seen, nothing moves. A spacer makes the room.
 *
 * Content may get shorter, too. Where a person reads stays then where it is: the browser anchors
 * what is seen, and a spacer keeps the place at the end that it would have to scroll away from.
 */

const NEAR_PX = 48;
const MARGIN_PX = 14;
/** The most that a question takes of what is seen; of a longer one, the end is. */
const QUESTION = 0.4;
const UP_KEYS = ["PageUp", "ArrowUp", "Home"];

export class Follower {
  #scroller;
  #content;
  #spacer = document.createElement("div");
  #onPinned;
  #top = 0;
  pinned = true;
  /** The last question of the thread was asked since it was opened. */
  #isAsked = false;
  /** An empty thread is read from its top. */
  hasEnd = false;

  constructor(scroller, content, onPinned) {
    this.#scroller = scroller;
    this.#content = content;
    this.#spacer.className = "scroll-spacer";
    scroller.append(this.#spacer);
    this.#onPinned = onPinned;
    const options = { passive: true };
    // Not passive: the browser must ask before it scrolls. Else, on a busy main thread, it scrolls
    // first, and `follow` takes the position back before the event arrives.
    scroller.addEventListener("wheel", (event) => event.deltaY < 0 && this.#let(), {
      passive: false,
    });
    scroller.addEventListener("touchmove", () => this.#unlessNear(), options);
    scroller.addEventListener("pointerdown", (event) => {
      const onScrollbar = event.target === scroller && event.offsetX >= scroller.clientWidth;
      if (onScrollbar) this.#let();
    });
    scroller.addEventListener("keydown", (event) => {
      const isTyping = event.target.matches("textarea, input, select");
      if (UP_KEYS.includes(event.key) && !isTyping) this.#let();
    });
    addEventListener("keyup", (event) => event.key === "Tab" && this.#unlessNear());
    scroller.addEventListener("scroll", () => this.#moved(), options);
    new ResizeObserver(() => this.follow()).observe(content);
    new ResizeObserver(() => this.follow()).observe(scroller);
  }

  /** To the end, and stay there. */
  pin() {
    this.#set(true);
    this.follow();
  }

  /** Another thread is opened. */
  begin() {
    this.#isAsked = false;
    this.pin();
  }

  /** A message is sent, which goes to the top. */
  ask() {
    this.#isAsked = true;
    this.pin();
  }

  follow() {
    if (!this.pinned) return;
    this.#hold();
    this.#scroller.scrollTop = this.hasEnd ? this.#scroller.scrollHeight : 0;
  }

  /** Show where an element begins that is longer than what is seen, or has others below it. */
  reveal(element) {
    if (!this.pinned) return;
    this.follow();
    const over =
      this.#scroller.getBoundingClientRect().top + MARGIN_PX - element.getBoundingClientRect().top;
    if (over <= 0) return;
    this.#set(false);
    this.#scroller.scrollTop -= over;
    this.#top = this.#scroller.scrollTop;
  }

  /** Change what stands above an element, which stays where it is seen. */
  keep(element, change) {
    const topOf = () => element.getBoundingClientRect().top;
    const before = topOf();
    // At its very top the browser anchors nothing.
    this.#scroller.style.overflowAnchor = "none";
    change();
    if (element.isConnected) this.#scroller.scrollTop += topOf() - before;
    this.#top = this.#scroller.scrollTop;
    this.#scroller.style.overflowAnchor = "auto";
  }

  /**
   * What is read: the message at the top, and how far above the scroller's top it begins; null at
   * the end.
   *
   * @returns {{message: string, px: number} | null}
   */
  get place() {
    if (this.pinned) return null;
    const { top } = this.#scroller.getBoundingClientRect();
    const articles = [...this.#scroller.querySelectorAll("[data-message]")];
    const first = articles.find((article) => article.getBoundingClientRect().bottom > top);
    return first ? this.placeOf(first) : null;
  }

  /** Where a message is seen. */
  placeOf(article) {
    const { top } = this.#scroller.getBoundingClientRect();
    return { message: article.dataset.message, px: top - article.getBoundingClientRect().top };
  }

  /** Back to what was read; says whether it is there. */
  restore({ message, px }) {
    const article = this.#scroller.querySelector(`[data-message="${CSS.escape(message)}"]`);
    if (!article) return false;
    this.#set(false);
    const { top } = this.#scroller.getBoundingClientRect();
    this.#scroller.scrollTop += article.getBoundingClientRect().top - top + px;
    this.#top = this.#scroller.scrollTop;
    this.#hold();
    return true;
  }

  /** Whether a person who reads upwards soon comes to the beginning. */
  get isNearTop() {
    return !this.pinned && this.#scroller.scrollTop < this.#scroller.clientHeight;
  }

  get #distance() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight;
  }

  #moved() {
    const { scrollTop } = this.#scroller;
    const cameDown = scrollTop > this.#top;
    this.#top = scrollTop;
    this.#hold();
    if (!this.pinned && cameDown && this.#distance < NEAR_PX) this.#set(true);
  }

  #let() {
    const canMove = this.#scroller.scrollHeight > this.#scroller.clientHeight;
    if (!canMove) return;
    this.#top = this.#scroller.scrollTop;
    this.#set(false);
  }

  #unlessNear() {
    if (this.#distance > NEAR_PX) this.#set(false);
  }

  #hold() {
    const { scrollTop, clientHeight } = this.#scroller;
    const top = this.pinned ? this.#topOfQuestion() : scrollTop;
    this.#spacer.style.height = top === null ? "0" : `${top + clientHeight}px`;
  }

  /** How far down what is seen begins if the last question is at its top; null at the thread's. */
  #topOfQuestion() {
    if (!this.#isAsked) return null;
    const [, ...questions] = this.#content.querySelectorAll(".message.user:not(.unsent)");
    const question = questions.at(-1);
    if (!question) return null;
    const { scrollTop, clientHeight } = this.#scroller;
    const above = scrollTop - this.#scroller.getBoundingClientRect().top;
    const { top, bottom } = question.getBoundingClientRect();
    return above + Math.max(top - MARGIN_PX, bottom - clientHeight * QUESTION);
  }

  #set(pinned) {
    if (pinned === this.pinned) return;
    this.pinned = pinned;
    this.#scroller.style.overflowAnchor = pinned ? "none" : "auto";
    this.#hold();
    this.#onPinned(pinned);
  }
}
