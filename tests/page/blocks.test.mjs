/** Markdown, block by block, and what it may cost. */

import assert from "node:assert/strict";
import test from "node:test";
import { LIMITS } from "../../static/js/bounds.js";
import { Blocks } from "../../static/js/blocks.js";
import { onceLoaded } from "../../static/js/highlight.js";
import remend from "../../static/vendor/remend/remend.js";
import { Lexer } from "../../static/vendor/marked/marked.esm.js";
import { table } from "./tables.mjs";

/** The blocks of a text that is whole. */
const blocksOf = (text) => new Blocks().update(text, false, null).blocks;
const markupOf = (text) =>
  blocksOf(text)
    .map(({ text: words, markup }) => markup ?? `plain: ${words}`)
    .join("");

/** Of the processor's time, ten times what a block may take on an idle machine. */
const MOST_MS = 2000;

/** Texts that made a page fail, or hold still for seconds, and others of their kind. */
const COSTLY = {
  "quotes in quotes": "> ".repeat(2000) + "x",
  "quotes in quotes, with lazy lines": `${"> ".repeat(40)}a\n${"b\n".repeat(20)}`,
  "lists in lists": "- ".repeat(4000),
  "numbered lists in lists": "1. ".repeat(4000),
  "lists in lists on lines of their own": Array.from(
    { length: 400 },
    (_, i) => `${"  ".repeat(i)}- a`,
  ).join("\n"),
  "lists in quotes in lists": "> - ".repeat(2000) + "x",
  "asterisks around a letter": `${"*".repeat(5000)}a${"*".repeat(5000)}`,
  "underscores around a letter": `${"_".repeat(5000)}a${"_".repeat(5000)}`,
  "tildes around a letter": `${"~~ ".repeat(2000)}a${" ~~".repeat(2000)}`,
  "emphasis in emphasis": `${"*a _b ".repeat(3000)}${"_ *".repeat(3000)}`,
  "tags in tags": "<sub>".repeat(20_000),
  "details in details": "<details>\n".repeat(20_000),
  "details behind details": "<details>a</details>\n\n".repeat(10_000),
  "ends of details": `<details>${"</details>\n".repeat(20_000)}`,
  "formulas in a line": "$a$ ".repeat(60_000),
  "beginnings of formulas": "\\(".repeat(60_000),
  "beginnings of displayed formulas": "$$ a\n\n".repeat(40_000),
  dollars: "$".repeat(120_000),
  headings: "# a\n".repeat(60_000),
  "underlined headings": "a\n=\n".repeat(40_000),
  rules: "---\n".repeat(60_000),
  paragraphs: "a\n\n".repeat(60_000),
  lines: "a\n".repeat(120_000),
  "empty lines": "\n".repeat(240_000),
  "list items": "- a\n".repeat(60_000),
  "quoted lines": "> a\n".repeat(60_000),
  quotes: "> a\n\n".repeat(40_000),
  "code fences": "```\n".repeat(40_000),
  "code fences of different lengths": Array.from({ length: 600 }, (_, i) => "`".repeat(i + 3)).join(
    "\n",
  ),
  "an open code fence": "```js\n" + "a b\n".repeat(60_000),
  "underscores in words": "_a".repeat(60_000),
  "asterisks in words": "*a".repeat(60_000),
  "strong beginnings": "**a ".repeat(40_000),
  asterisks: "*".repeat(200_000),
  "asterisks apart": "* ".repeat(100_000),
  tildes: "~a".repeat(60_000),
  brackets: "[".repeat(120_000),
  "brackets with letters": "[a".repeat(60_000),
  "closed brackets": `${"[".repeat(40_000)}a${"]".repeat(40_000)}`,
  "link beginnings": "[a](".repeat(40_000),
  links: "[a](b)".repeat(30_000),
  "links in links": `${"[".repeat(20_000)}a${"](b)".repeat(20_000)}`,
  "link titles": '[a](b "'.repeat(30_000),
  "links with brackets in their address": `[a](${"(".repeat(60_000)}`,
  images: "![a](b)".repeat(30_000),
  references: `[a]: b\n\n${"[a]".repeat(40_000)}`,
  "references without an end": `[a]: b\n\n${"[a][".repeat(40_000)}`,
  "references in brackets": `[a]: b\n\n${"[".repeat(5000)}a${"]".repeat(5000)}`,
  definitions: "[a]: b\n".repeat(30_000),
  "definitions of different names": Array.from({ length: 30_000 }, (_, i) => `[a${i}]: b`).join(
    "\n",
  ),
  "definitions without an end": '[a]: b "c\n'.repeat(30_000),
  "backticks apart": "` ".repeat(60_000),
  backticks: "`".repeat(200_000),
  "backticks in runs": Array.from({ length: 500 }, (_, i) => `${"`".repeat(i + 1)}a`).join(""),
  code: "`a`".repeat(60_000),
  "angle brackets": "<".repeat(200_000),
  tags: "<a>".repeat(60_000),
  "tag beginnings": "<a ".repeat(60_000),
  attributes: `<a${" b=c".repeat(40_000)}`,
  comments: "<!-- ".repeat(40_000),
  "processing instructions": "a <? ".repeat(40_000),
  declarations: "a <!A ".repeat(40_000),
  autolinks: "<http://a".repeat(30_000),
  entities: "&amp;".repeat(40_000),
  "numeric entities": "&#65;".repeat(40_000),
  ampersands: "&".repeat(200_000),
  backslashes: "\\".repeat(200_000),
  escapes: "\\*".repeat(100_000),
  addresses: "www.a.b ".repeat(30_000),
  "an address with marks at its end": `http://a${"!".repeat(60_000)}`,
  "addresses with brackets": `http://a${"(".repeat(60_000)}`,
  "a long word": "a".repeat(240_000),
  "a long word before an at sign": `${"a.".repeat(60_000)}@`,
  "mail addresses": "a@b.c ".repeat(30_000),
  ats: "@a".repeat(60_000),
  spaces: `a${" ".repeat(200_000)}b`,
  "spaces at ends of lines": `${"a  \n".repeat(40_000)}`,
  tabs: "\t".repeat(200_000),
  "a table of many columns": `${"|a".repeat(3000)}|\n${"|-".repeat(3000)}|\n${`${"|b".repeat(3000)}|\n`.repeat(10)}`,
  "a table of many rows": `|a|b|\n|-|-|\n${"|c|d|\n".repeat(30_000)}`,
  tables: "|a|\n|-|\n|b|\n\n".repeat(15_000),
  "a table row without an end": "|".repeat(200_000),
  "bars and dashes": "|-".repeat(100_000),
  "a table of escapes": `|a|\n|-|\n|${"\\|".repeat(60_000)}|\n`,
  tasks: "- [ ] a\n".repeat(30_000),
  punctuation: "!?.,;:'\"()".repeat(20_000),
  "a letter with marks": `a${"\u0301".repeat(200_000)}`,
  "carriage returns": "a\r\n".repeat(60_000),
  "zero characters": "\0".repeat(200_000),
};

table(
  "a text that is hard to read costs a moment, and no more elements than a page bears",
  Object.entries(COSTLY),
  (_, text) => {
    const before = process.cpuUsage();
    const blocks = blocksOf(text);
    const took = process.cpuUsage(before).user / 1000;
    assert.ok(took < MOST_MS, `${Math.round(took)} ms`);
    const elements = blocks.reduce(
      (sum, { markup }) => sum + (markup?.match(/<[a-z]/g)?.length ?? 0),
      0,
    );
    assert.ok(elements <= LIMITS.elements + LIMITS.blockElements, `${elements} elements`);
    assert.ok(
      (blocks.length - 2) * LIMITS.elementsPerBlock <= LIMITS.elements,
      `${blocks.length} blocks`,
    );
  },
);

table(
  "a text that is hard to read costs a moment while it streams",
  Object.entries(COSTLY),
  (_, text) => {
    const before = process.cpuUsage();
    new Blocks().update(text, true, remend);
    const took = process.cpuUsage(before).user / 1000;
    assert.ok(took < MOST_MS, `${Math.round(took)} ms`);
  },
);

test("what is nested deeper than people nest is text inside of the last level", () => {
  const quotes = markupOf("> ".repeat(2000) + "x");
  assert.equal(quotes.match(/<blockquote>/g).length, LIMITS.nesting);
  assert.match(quotes, /&gt; &gt; x/);
  assert.match(markupOf(`${"- ".repeat(4000)}x`), /<li>[^]*x/);
  assert.match(markupOf(`${"> ".repeat(10)}**deep**`), /<strong>deep<\/strong>/);
});

test("a block of too many elements is plain text, and the others are not", () => {
  const rows = "|c|d|\n".repeat(10_000);
  const [before, long, after] = blocksOf(`**a**\n\n|a|b|\n|-|-|\n${rows}\n# c`);
  assert.match(before.markup, /<strong>/);
  assert.equal(long.markup, null);
  assert.ok(long.text.startsWith("|a|b|\n|-|-|\n|c|d|"));
  assert.match(after.markup, /<h2>c<\/h2>/);
});

test("a text of too many blocks goes on as plain text", () => {
  const blocks = blocksOf("# a\n".repeat(60_000));
  assert.match(blocks[0].markup, /<h2>a<\/h2>/);
  assert.equal(blocks.at(-1).markup, null);
  assert.ok(blocks.at(-1).text.endsWith("# a\n# a\n"));
  const shown = blocks.slice(0, -1).length + blocks.at(-1).text.match(/# a/g).length;
  assert.equal(shown, 60_000);
});

test("a long paragraph has its emphasis as long as it has no more marks than prose", () => {
  const prose =
    "It was **very** late, and _nobody_ had `read` the [report](https://example.org/) yet. ".repeat(
      60,
    );
  assert.match(
    markupOf(prose),
    /<strong>very<\/strong>[^]*<em>nobody<\/em>[^]*<code>read<\/code>[^]*<a href/,
  );
});

const TEXT = `# Report\r
\r
The *first* paragraph, with a [link](https://example.org/) and \`code\`.\r
\r
- one
  - **two**
- three

\`\`\`js
const a = "b";
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quoted
> further

The end.
`;

/** What is shown of a text that comes in pieces. */
function streamed(pieces) {
  const blocks = new Blocks();
  let shown = [];
  let text = "";
  for (const piece of pieces) {
    text += piece;
    const { from, blocks: changed } = blocks.update(text, true, remend);
    shown = [...shown.slice(0, from), ...changed];
  }
  return shown.map(({ markup }) => markup);
}

test("a text is the same whether it streams or is there at once", () => {
  const whole = blocksOf(TEXT).map(({ markup }) => markup);
  for (const size of [1, 7, 40]) {
    const pieces = Array.from({ length: Math.ceil(TEXT.length / size) }, (_, i) =>
      TEXT.slice(i * size, (i + 1) * size),
    );
    assert.deepEqual(streamed(pieces), whole);
  }
});

test("a text that grows is read as often as its last blocks are long, and not from its beginning", (t) => {
  let read = 0;
  const { lex } = Lexer.prototype;
  t.mock.method(Lexer.prototype, "lex", function counted(source) {
    read += source.length;
    return lex.call(this, source);
  });
  const paragraph = `${"Some words of a text. ".repeat(5)}\n\n`;
  const words = paragraph.repeat(100).match(/\S+\s*/g);
  streamed(words);
  // Each word has the last blocks, three at most, read again, and the last one once more when it is
  // closed.
  assert.ok(read < words.length * paragraph.length * 4, `${read} characters`);
});

const LONG = {
  list: Array.from({ length: 600 }, (_, i) => `- item **${i}** with \`code\` in it`),
  table: ["|a|b|c|", "|-|-|-|", ...Array.from({ length: 600 }, (_, i) => `|${i}|*b*|c c c|`)],
  code: ["```js", ...Array.from({ length: 600 }, (_, i) => `const a${i} = "b"; // c`), "```"],
};
await new Promise((loaded) => onceLoaded("javascript", loaded));
const wordsOf = (markup) => markup.replace(/<thead>[^]*?<\/thead>|<[^>]*>|\n/g, "");

table(
  "a long block is made in pieces: further ones join the first, and each has few elements",
  Object.entries(LONG),
  (_, lines) => {
    const [first, ...others] = blocksOf(lines.join("\n"));
    assert.equal(first.joins, false);
    assert.ok(others.length > 2 && others.every(({ joins }) => joins));
    for (const { elements } of [first, ...others])
      assert.ok(elements < 2 * LIMITS.elementsPerTask, `${elements} elements`);
    const words = wordsOf([first, ...others].map(({ markup }) => markup).join(""));
    const short = lines.map((line) => markupOf([...lines.slice(0, 2), line].join("\n")));
    assert.ok(words.length > 4_000);
    for (const i of [300, 599]) assert.ok(words.includes(wordsOf(short[i]).slice(-8)), short[i]);
  },
);

table(
  "while a long block grows, the pieces before its last one stay as they are",
  Object.entries(LONG),
  (_, lines) => {
    const blocks = new Blocks();
    let shown = [];
    for (const length of [200, 350, 500, 550, 602]) {
      const { from, blocks: made } = blocks.update(lines.slice(0, length).join("\n"), true, null);
      assert.equal(from, 0);
      const settled = shown.slice(0, -1).map(({ markup }) => markup);
      assert.deepEqual(
        made.slice(0, settled.length).map(({ markup }) => markup),
        settled,
      );
      shown = made;
    }
  },
);

test("a text of too many blocks that goes on is not read again", (t) => {
  const blocks = new Blocks();
  let text = "# a\n".repeat(10_000);
  blocks.update(text, true, remend);
  const lex = t.mock.method(Lexer.prototype, "lex");
  for (let i = 0; i < 100; i += 1) {
    text += "# a\n";
    assert.equal(blocks.update(text, true, remend).blocks.length, 1);
  }
  assert.equal(lex.mock.callCount(), 0);
});

test("a text that is another one than before is read anew", () => {
  const blocks = new Blocks();
  blocks.update("# a\n\nb\n\nc\n\nd", true, remend);
  const { from, blocks: made } = blocks.update("e", true, remend);
  assert.equal(from, 0);
  assert.deepEqual(
    made.map(({ markup }) => markup),
    ["<p>e</p>\n"],
  );
});

test("what is half typed is closed while it streams", () => {
  assert.deepEqual(streamed(["a **b"]), ["<p>a <strong>b</strong></p>\n"]);
  assert.deepEqual(
    blocksOf("a **b").map(({ markup }) => markup),
    ["<p>a **b</p>\n"],
  );
});

test("a text that cannot be closed is shown as it is", () => {
  const fails = () => {
    throw new Error("no");
  };
  assert.deepEqual(
    new Blocks().update("a **b", true, fails).blocks.map(({ text, markup }) => [text, markup]),
    [["a **b", null]],
  );
});

test("no heading is more than one level below the one before it, and each looks as it was meant", () => {
  const levels = (markups) => markups.join("").match(/<h.*?>/g);
  const text = "### a\n\nb\n\n#### c\n\n# d\n\n> #### e\n\n## f\n\n";
  const made = ['<h2 class="as-h4">', '<h3 class="as-h5">', "<h2>", '<h3 class="as-h5">', "<h3>"];
  assert.deepEqual(levels([markupOf(text)]), made);
  assert.deepEqual(levels(streamed(text.match(/.{1,3}/gs))), made);
});

test("line breaks, indices and keys are shown, and any other HTML is text", () => {
  assert.equal(
    markupOf("H<sub>2</sub>O<br>m<sup>2</sup> <kbd>Ctrl</kbd>"),
    "<p>H<sub>2</sub>O<br>m<sup>2</sup> <kbd>Ctrl</kbd></p>\n",
  );
  assert.match(markupOf('a <kbd onclick="x()">b</kbd>'), /^<p>a &lt;kbd onclick/);
  assert.match(markupOf("a <u>b</u>"), /^<p>a &lt;u&gt;b&lt;\/u&gt;/);
});

test("details are folded with their summary, also in others and while they are written", () => {
  const text = "<details>\n<summary>More *words*</summary>\n\n- one\n\n<details>two</details>\n\n";
  const inner =
    "<details><summary>More <em>words</em></summary><ul>\n<li>one</li>\n</ul>\n" +
    "<details><summary>Details</summary><p>two</p>\n</details>";
  assert.equal(markupOf(`${text}</details>\n\nEnd`), `${inner}</details><p>End</p>\n`);
  assert.equal(markupOf(text), `${inner}</details>`);
  assert.match(markupOf("<details open>\na\n</details>"), /^<p>&lt;details open/);
});

test("formulas are told apart from money and from the marks of markdown in them", () => {
  const text = (tex) => `<code class="math">${tex}</code>`;
  const display = (tex) => `<code class="math display">${tex}</code>`;
  assert.equal(markupOf("So $a_1 + b_1$ is."), `<p>So ${text("a_1 + b_1")} is.</p>\n`);
  assert.equal(markupOf("So \\(x*y*z\\) is"), `<p>So ${text("x*y*z")} is</p>\n`);
  assert.equal(markupOf("So $$x$$ is"), `<p>So ${display("x")} is</p>\n`);
  assert.equal(markupOf("$$\na\n+ b\n= c\n$$"), `<p>${display("a\n+ b\n= c")}</p>`);
  assert.equal(markupOf("\\[\nx < y\n\\]"), `<p>${display("x &lt; y")}</p>`);
  for (const money of ["$5 and $10", "$5-$10", "$HOME, $PATH", "US$ 5 or US$ 6", "`$a$`"])
    assert.doesNotMatch(markupOf(money), /math/, money);
});

test("a block of more formulas than a page draws in a moment is plain text", () => {
  const formulas = (count) => `$${"ab".repeat(300)}$ `.repeat(count);
  assert.match(markupOf(formulas(5)), /math/);
  assert.match(markupOf(formulas(10)), /^plain/);
});
