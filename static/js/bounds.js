/**
 * Bounds on what a text may cost the page: the words of a model, a tool or a person are drawn,
 * however they are made, and no block of them holds the page for long. What is beyond a bound is
 * shown as plain text, or cut.
 */

import { t } from "./texts.js";

export const LIMITS = {
  /** Lists in lists, quotes in quotes, emphasis in emphasis. */
  nesting: 40,
  /**
   * The work of the lexer for a text: steps at least, and further ones for each of its characters.
   */
  steps: 8_000_000,
  stepsPerCharacter: 120,
  /** What a character costs each time that the lexer splits its text into blocks. */
  blockSteps: 20,
  /** Elements of a block, and of a text. */
  blockElements: 5_000,
  elements: 20_000,
  /** So many more for each block, and for the frame around code or a table. */
  elementsPerBlock: 10,
  /** Elements that are drawn in one task; more of them are drawn in further ones. */
  elementsPerTask: 500,
  /** A long list, table or code is drawn in pieces: characters of their text, or their markup. */
  pieceCharacters: 4_000,
  pieceMarkup: 12_000,
  /** A longer block is not closed while it is being written. */
  closedCharacters: 10_000,
  /** Code that is longer, or has a longer word, has no colours. */
  colouredCharacters: 30_000,
  /** By language, where reading takes more than its length. */
  colouredCharactersOf: { typescript: 10_000, yaml: 10_000 },
  colouredWord: 1_000,
  /** Characters of a formula's TeX, and tags of its MathML. */
  formula: 1_000,
  formulaElements: 1_000,
  /** Dates that do not break in a line, of a text. */
  dates: 1_000,
  /** Text of tools and forms. */
  characters: 100_000,
  /** Values of JSON times the levels that they stand below: more are written on one line. */
  indentation: 500_000,
  /** Marks on one letter. */
  marks: 8,
};

const PILED = new RegExp(`(\\p{M}{${LIMITS.marks}})\\p{M}+`, "gu");

/** The text without the marks that pile up on a letter beyond what any script needs. */
export const legible = (text) => text.replace(PILED, "$1…");

/** Half a character, or a joiner at the end. */
const TORN = /[\ud800-\udbff\u200d]+$/;

/** The beginning of a long text. */
export const cut = (text, most = LIMITS.characters) =>
  text.length > most ? `${text.slice(0, most).replace(TORN, "")}…` : text;

const valuesIn = (value) =>
  typeof value === "object" && value !== null ? Object.values(value) : [];

/** The value, what is in it, what is in that, and so on. */
export function* levelsOf(value) {
  for (let level = [value]; level.length; level = level.flatMap(valuesIn)) yield level;
}

/** Whether the indentation of a value would outweigh it. */
export function isDeep(value) {
  let indentation = 0;
  let depth = 0;
  for (const level of levelsOf(value)) {
    indentation += level.length * depth;
    depth += 1;
    if (indentation > LIMITS.indentation) return true;
  }
  return false;
}

/** A value as JSON, as far as it can be written. @param {number} indent  spaces for each level */
export function inJson(value, indent = 2) {
  try {
    return JSON.stringify(value, null, indent && !isDeep(value) ? indent : 0);
  } catch {
    return t("Nested too deep to be shown");
  }
}
