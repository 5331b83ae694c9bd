/** Code in colours, and what it may cost. */

import assert from "node:assert/strict";
import test from "node:test";
import { LIMITS } from "../../static/js/bounds.js";
import {
  highlighted,
  LANGUAGES,
  languageOf,
  onceLoaded,
  pieces,
} from "../../static/js/highlight.js";
import { table } from "./tables.mjs";

await Promise.all(
  LANGUAGES.map((language) => new Promise((loaded) => onceLoaded(language, loaded))),
);

test("code has colours, and what is in it is escaped", () => {
  assert.match(
    highlighted('const a = "<b>";', "javascript"),
    /<span class="hljs-keyword">const<\/span>[^<]*<span[^>]*>"?&quot;&lt;b&gt;/,
  );
  assert.equal(highlighted("a", ""), null);
});

/** Of the processor's time, ten times what a block may take on an idle machine. */
const MOST_MS = 2000;
const UNITS = [
  "a",
  "a ",
  "1",
  "0x",
  "1e",
  "_",
  "$",
  "(",
  "[",
  "{",
  '"',
  "'",
  "`${",
  "/",
  "/*",
  "<a ",
  "\\",
  "=>",
  "(a)=>",
  "\n",
  "  \n",
  'f"{',
  "$(",
];

table(
  "code that is hard to read costs a moment, in each language",
  LANGUAGES.flatMap((language) => UNITS.map((unit) => [language, unit])),
  (language, unit) => {
    const most = LIMITS.colouredCharactersOf[language] ?? LIMITS.colouredCharacters;
    const code = unit.repeat(most).slice(0, most);
    let markup;
    let took = Infinity;
    // A busy machine makes a measurement longer, never shorter.
    for (let tries = 0; tries < 3 && took >= MOST_MS / 2; tries++) {
      const before = process.cpuUsage();
      markup = highlighted(code, language);
      took = Math.min(took, process.cpuUsage(before).user / 1000);
    }
    assert.ok(took < MOST_MS / 2, `${Math.round(took)} ms`);
    assert.ok((markup?.split("<span").length ?? 0) <= LIMITS.blockElements);
  },
);

test("a long word, and code that is too long, have no colours", () => {
  assert.equal(highlighted("a".repeat(LIMITS.colouredWord), "javascript"), null);
  assert.equal(highlighted("a ".repeat(LIMITS.colouredCharacters), "javascript"), null);
});

test("coloured code in pieces is the same text, and each piece closes what it opens", () => {
  const code = `a = \`${"b ${c + 1} d\n".repeat(2000)}\`;`;
  const whole = highlighted(code, "javascript");
  const made = pieces(whole);
  const textOf = (markup) => markup.replace(/<[^>]*>/g, "");
  assert.ok(made.length > 3);
  assert.equal(made.map(textOf).join(""), textOf(whole));
  for (const piece of made) {
    assert.equal(piece.split("<span").length, piece.split("</span>").length);
    assert.ok(piece.startsWith('<span class="hljs-string">') || piece === made[0]);
    assert.ok(piece.length < 2 * LIMITS.pieceMarkup);
  }
});

test("pieces of deeply nested code are not many times as long as the whole", () => {
  const depth = 4000;
  const whole = '<span class="hljs-subst">${'.repeat(depth) + "</span>".repeat(depth);
  const made = pieces(whole);
  const length = made.reduce((sum, piece) => sum + piece.length, 0);
  assert.ok(made.length > 3);
  assert.ok(length < 10 * whole.length, `${length} characters`);
});

table(
  "a language is known by its short names, and one without colours has its name",
  [
    ["ts", "typescript"],
    ["C++", "cpp"],
    ["rust,ignore", "rust"],
    ["Haskell main.hs", "haskell"],
    ["<b>", ""],
    [undefined, ""],
  ],
  (info, name) => assert.equal(languageOf(info), name),
);
