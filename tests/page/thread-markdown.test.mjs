/** Messages as Markdown. */

import assert from "node:assert/strict";
import test from "node:test";
import "./browser.mjs";
import { prepare } from "../../static/js/components.js";
import { propsText } from "../../static/js/component-text.js";
import { answerMarkdown, threadMarkdown } from "../../static/js/thread-markdown.js";
import { table } from "./tables.mjs";

await prepare();

const EVIL = "a|b\n## You\n<script>`x`[y](javascript:z)";
const HARMLESS = String.raw`a\|b \#\# You \<script\>` + "\\`x\\`" + String.raw`\[y\](javascript:z)`;
const LEAF = "data:image/png;base64,AA==";

const shown = (component, props) => ({
  type: "tool-call",
  toolName: "render_ui_component",
  toolCallId: "c",
  argsText: "{}",
  args: { component, props },
  state: "shown",
});
const asked = (rest) => ({
  type: "tool-call",
  toolName: "request_user_selection",
  args: { prompt: "Which?" },
  state: "result",
  ...rest,
});
const answer = (...parts) => answerMarkdown({ parts });
const thread = (...messages) => threadMarkdown({ title: "T", messages });

test("a thread has its title, its speakers and their words as they were written", () => {
  const messages = [
    { role: "user", parts: [{ type: "text", text: "Hi *there*" }] },
    {
      role: "assistant",
      parts: [
        { type: "text", text: "## One\n\n- a" },
        { type: "text", text: "Two" },
      ],
    },
  ];
  assert.equal(
    thread(...messages),
    "# T\n\n## You\n\nHi *there*\n\n## Assistant\n\n## One\n\n- a\n\nTwo\n",
  );
  assert.equal(threadMarkdown({ title: "", messages: [] }), "# Untitled\n");
});

test("images stand at the end, by number", () => {
  const image = { type: "image", image: LEAF, alt: "A [leaf]" };
  assert.equal(
    thread({ role: "user", parts: [image, { ...image, alt: "" }, { type: "text", text: "Hi" }] }),
    `# T\n\n## You\n\n![A \\[leaf\\]][image-1]\n\n![Image][image-2]\n\nHi\n\n[image-1]: ${LEAF}\n[image-2]: ${LEAF}\n`,
  );
});

test("thoughts, failures and cut ends are quoted", () => {
  const thought = { type: "reasoning", text: "Hm.\nYes." };
  assert.match(
    thread({ role: "assistant", parts: [thought] }),
    /## Assistant\n\n> Thought: Hm\.\n> Yes\.\n$/,
  );
  assert.match(
    thread({ role: "assistant", parts: [], error: { message: "It *broke*" } }),
    /\n\n> Failed: It \\\*broke\\\*\n$/,
  );
  assert.match(
    thread({ role: "assistant", parts: [], ended: { reason: "max steps" } }),
    /\n\n> Not finished: max steps\n$/,
  );
  assert.match(
    thread({ role: "assistant", parts: [], finishReason: "length" }),
    /\n\n> Cut off: the model reached its limit of words\n$/,
  );
  assert.doesNotMatch(thread({ role: "assistant", parts: [], finishReason: "stop" }), />/);
});

test("a part of an unknown kind is left out", () => {
  assert.equal(
    thread({ role: "assistant", parts: [{ type: "hologram" }, { type: "text", text: "Hi" }] }),
    "# T\n\n## Assistant\n\nHi\n",
  );
});

const SERIES = [
  { name: "North", data: [1, 4] },
  { name: "", data: [null, 9] },
];

table(
  "a component is its data",
  [
    [
      "line_chart",
      { title: "Power", x: ["a", "b"], series: SERIES },
      "**Power**\n\n| x | North | Series 2 |\n| --- | ---: | ---: |\n| a | 1 |  |\n| b | 4 | 9 |",
    ],
    [
      "line_chart",
      { x: [1, 2], x_label: "hour", series: [SERIES[0]] },
      "| hour | North |\n| ---: | ---: |\n| 1 | 1 |\n| 2 | 4 |",
    ],
    [
      "bar_chart",
      { categories: ["a", "b"], series: [SERIES[0]] },
      "| Category | North |\n| --- | ---: |\n| a | 1 |\n| b | 4 |",
    ],
    [
      "table",
      { columns: [{ key: "k", label: "K" }, { key: "constructor" }], rows: [{ k: 1 }] },
      "| K | constructor |\n| ---: | ---: |\n| 1 |  |",
    ],
    ["table", { columns: [{ key: "k" }], rows: [] }, "| k |\n| --- |"],
    [
      "metric_cards",
      {
        cards: [
          { label: "Yield", value: 1, unit: "kW", delta: "+1" },
          { label: "Faults", value: null },
          { label: "Zero", value: 0 },
        ],
      },
      "| Figure | Value | Change |\n| --- | --- | --- |\n| Yield | 1 kW | +1 |\n| Faults |  |  |\n| Zero | 0 |  |",
    ],
    ["report", { title: "Week", markdown: "- **one**" }, "**Week**\n\n- **one**"],
    ["alert", { message: "It *is* on" }, String.raw`> It \*is\* on`],
  ],
  (component, props, markdown) => assert.equal(answer(shown(component, props)), markdown),
);

table(
  "a component that cannot be drawn is told as the call that it is",
  [
    ["pie_chart", {}],
    ["line_chart", { x: [1, 2], series: [{ name: "a", data: [1] }] }],
  ],
  (component, props) =>
    assert.match(
      answer(shown(component, props)),
      /^\*\*Tool render\\_ui\\_component\*\* \(shown\)\n/,
    ),
);

table(
  "a component without a text of its own is told by its props",
  [
    [
      { title: "Load", value: 7, on: false, unit: "", note: null, tone: undefined },
      "- value: 7\n- on: false\n- unit: ",
    ],
    [
      { tags: ["a", "b*"], range: { low: 1 }, mixed: [1, { a: 2 }], none: [] },
      '- tags: a, b\\*\n- range: {"low":1}\n- mixed: \\[1,{"a":2}\\]\n- none: ',
    ],
    [
      {
        size: 2,
        steps: [
          { name: "a|b", at: 1 },
          { name: "c", more: ["x"] },
        ],
      },
      "- size: 2\n\nsteps:\n\n| name | at | more |\n| --- | ---: | --- |\n| a\\|b | 1 |  |\n| c |  | x |",
    ],
    [{ title: "Load" }, ""],
  ],
  (props, markdown) => assert.equal(propsText(props), markdown),
);

table(
  "a question is quoted with its answer",
  [
    [{ result: { value: "r*d" } }, String.raw`> Which?: r\*d`],
    [{ result: { values: ["r", "g"] } }, "> Which?: r, g"],
    [{ result: { values: [] } }, "> Which?: nothing"],
    [{ result: { date: "2024-01-15" } }, "> Which?: 2024-01-15"],
    [{ result: { start: "2024-01-15", end: "2024-01-16" } }, "> Which?: 2024-01-15 to 2024-01-16"],
    [{ result: { answers: { a: 1, b: "x*" } } }, String.raw`> Which?: a: 1, b: x\*`],
    [{ result: { cancelled: true } }, "> Which?: not answered"],
    [{ state: "pending" }, "> Which?: not answered"],
  ],
  (rest, markdown) => assert.equal(answer(asked(rest)), markdown),
);

const CALL = {
  type: "tool-call",
  toolName: "calculator",
  argsText: '{"expression": "17 * 23"}',
  state: "result",
  result: 391,
};

test("another call is in a thread with its arguments and its result, and not in a copied answer", () => {
  const fenced =
    '**Tool calculator** (result)\n\n```json\n{"expression": "17 * 23"}\n```\n\n```json\n391\n```';
  assert.equal(thread({ role: "assistant", parts: [CALL] }), `# T\n\n## Assistant\n\n${fenced}\n`);
  assert.equal(answer({ type: "text", text: "391." }, CALL), "391.");
  assert.ok(
    thread({ role: "assistant", parts: [{ ...CALL, result: undefined }] }).endsWith('"}\n```\n'),
  );
});

test("no name, label or cell is markup", () => {
  const parts = [
    shown("table", { title: EVIL, columns: [{ key: "k", label: EVIL }], rows: [{ k: EVIL }] }),
    shown("metric_cards", { cards: [{ label: EVIL, value: 1, unit: "kW" }] }),
    shown("alert", { message: EVIL }),
    {
      type: "tool-call",
      toolName: EVIL,
      argsText: "```\n# No",
      state: "error",
      result: { error: "```" },
    },
  ];
  const text = threadMarkdown({ title: EVIL, messages: [{ role: "assistant", parts }] });
  assert.ok(
    text.startsWith(
      `# ${HARMLESS}\n\n## Assistant\n\n**${HARMLESS}**\n\n| ${HARMLESS} |\n| --- |\n| ${HARMLESS} |\n`,
    ),
    text,
  );
  assert.ok(text.includes(`| ${HARMLESS} | 1 kW |  |`), text);
  assert.ok(text.includes(`\n> ${HARMLESS}\n`), text);
  assert.ok(
    text.includes(
      `**Tool ${HARMLESS}** (error)\n\n\`\`\`\`json\n\`\`\`\n# No\n\`\`\`\`\n\n\`\`\`\`json`,
    ),
    text,
  );
});

test("props of any depth are written", () => {
  let deep = [];
  for (let level = 0; level < 20_000; level += 1) deep = [deep];
  assert.equal(propsText({ n: 1, deep }), "- n: 1\n- deep: Nested too deep to be shown");
});
