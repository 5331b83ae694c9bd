/**
 * The steps of a turn while one of its runs is read: which part belongs to which step, who speaks
 * in it, and what was withdrawn. Steps of nodes that speak beside each other interleave.
 */

export class Steps {
  /** By step id, in the order in which they started. */
  #steps;
  #lastStarted;
  /** Of each part that was seen to start, by its number in the run: the id of its step. */
  #owners = [];
  #next;
  #seeded;
  #withdrawn = new Set();
  /** A part came that cannot be told apart from those that the run began with. */
  isUnsure = false;

  /**
   * @param {Record<string, any>[]} steps  known already
   * @param {number} partCount  parts of the run so far
   */
  constructor(steps, partCount = 0) {
    this.#steps = new Map(steps.map((step) => [step.stepId, step]));
    this.#lastStarted = steps.at(-1)?.stepId;
    this.#next = this.#seeded = partCount;
  }

  get list() {
    return [...this.#steps.values()];
  }

  start({ stepId, node, namespace }) {
    this.#steps.set(stepId, { ...this.#steps.get(stepId), stepId, node, namespace });
    this.#lastStarted = stepId;
  }

  startPart({ stepId }) {
    this.isUnsure ||= stepId !== undefined && this.#seeded > 0;
    this.#owners[this.#next] = stepId ?? this.#lastStarted;
    this.#next += 1;
  }

  finish({ stepId = this.#lastStarted, usage, model }) {
    const named = model === undefined ? {} : { model };
    this.#steps.set(stepId, { ...this.#steps.get(stepId), stepId, usage, ...named });
  }

  withdraw({ step_id: stepId, parts }) {
    this.#steps.delete(stepId);
    for (const number of parts) this.#withdrawn.add(number);
  }

  /** A chunk of a part; of one that was not seen to start, the numbers are others than thought. */
  seePart(number) {
    this.isUnsure ||= number >= this.#next;
  }

  ownerOf(number) {
    return this.#owners[number];
  }

  /** The numbers of the parts that stand, step by step; those of an unknown step come first. */
  order(count) {
    const ranks = new Map([...this.#steps.keys()].map((stepId, rank) => [stepId, rank]));
    const rank = (number) => ranks.get(this.#owners[number]) ?? -1;
    return Array.from({ length: count }, (_, number) => number)
      .filter((number) => !this.#withdrawn.has(number))
      .sort((one, other) => rank(one) - rank(other));
  }
}

/** A node, with the subgraphs around it: "researcher · agent". */
export const speakerOf = ({ node, namespace = [] }) =>
  [...namespace.map((name) => name.split(":")[0]), node].join(" · ");

/**
 * Who begins to speak at each part. Nobody is named where a single node of the graph itself
 * speaks.
 *
 * @returns {(string | undefined)[]}  by the index of the part
 */
export function speakersOf({ parts, steps = [] }) {
  const known = new Map(steps.filter(({ node }) => node).map((step) => [step.stepId, step]));
  const said = parts.map(({ stepId }) => known.get(stepId));
  const names = said.map((step) => step && speakerOf(step));
  const isOne = new Set(names.filter(Boolean)).size < 2;
  if (isOne && !said.some((step) => step?.namespace?.length)) return [];
  return names.map((name, index) => (name === names[index - 1] ? undefined : name));
}
