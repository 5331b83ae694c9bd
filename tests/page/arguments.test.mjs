/** A tool's JSON Schema as the fields of a form, and what is typed there as arguments. */

import assert from "node:assert/strict";
import test from "node:test";
import {
  argsOf,
  argsOfText,
  changesOf,
  fieldsOf,
  isExact,
  optionWords,
  questionFields,
} from "../../static/js/arguments.js";
import { table } from "./tables.mjs";

const TEXT = { type: "string" };
const COUNT = { type: "integer" };
const COLOURS = { enum: ["red", "green"], type: "string" };
const COUNT_OR_TEXT = { anyOf: [TEXT, COUNT] };
const DEFINITIONS = { Colour: COLOURS, Loop: { $ref: "#/$defs/Loop" } };

const schema = (properties, ...required) => ({ type: "object", properties, required });
const many = (count) =>
  Object.fromEntries(Array.from({ length: count }, (_, number) => [`a${number}`, TEXT]));

/** Kind and text of each field. */
const fields = (declared, args) =>
  fieldsOf(declared, args)?.map(({ name, kind, text }) => [name, kind, text]) ?? null;

/** The arguments when these fields are filled so. */
function typed(declared, args, texts) {
  const shown = fieldsOf(declared, args);
  return argsOf(
    shown,
    shown.map(({ name, text }) => texts[name] ?? text),
  );
}

table(
  "an argument has the field that shows it as it is, and is unchanged until somebody types",
  [
    [TEXT, "a\nb", "text", "a\nb"],
    [COUNT, 7, "text", "7"],
    [{ type: "number" }, 0.5, "text", "0.5"],
    [{ type: "boolean" }, false, "choice", "1"],
    [COLOURS, "green", "choice", "1"],
    [{ const: "red" }, "red", "choice", "0"],
    [{ anyOf: [{ const: 1 }, { const: 2 }] }, 2, "choice", "1"],
    [{ oneOf: [{ const: 1 }, { const: 2 }] }, 2, "choice", "1"],
    [{ anyOf: [TEXT, { type: "null" }] }, null, "text", ""],
    [{ type: ["integer", "null"] }, 3, "text", "3"],
    [COUNT_OR_TEXT, 3, "text", "3"],
    [{ $ref: "#/$defs/Colour" }, "red", "choice", "0"],
    [{ allOf: [{ $ref: "#/$defs/Colour" }] }, "red", "choice", "0"],
    [{ anyOf: [{ $ref: "#/$defs/Colour" }, { type: "null" }] }, null, "choice", ""],
    // A field of text would change these, or cannot hold them.
    [TEXT, "a\rb", "json", String.raw`"a\rb"`],
    [TEXT, "a\u200bb", "json", String.raw`"a\u200bb"`],
    [TEXT, 7, "json", "7"],
    [TEXT, null, "json", "null"],
    [COLOURS, "blue", "json", '"blue"'],
    [{ type: "array", items: TEXT }, ["a"], "json", '[\n  "a"\n]'],
    [{ anyOf: [TEXT, { type: "array" }] }, "a", "json", '"a"'],
    [{ $ref: "#/$defs/Loop" }, "a", "json", '"a"'],
    [{ $ref: "#/$defs/constructor" }, "a", "json", '"a"'],
    [{ $ref: "https://example.org/schema" }, "a", "json", '"a"'],
    [{ enum: [] }, "a", "json", '"a"'],
    [{ enum: Array.from({ length: 201 }, (_, number) => number) }, 7, "json", "7"],
    [{}, "a", "json", '"a"'],
    [true, "a", "json", '"a"'],
  ],
  (declared, value, kind, text) => {
    const whole = { ...schema({ x: declared }), $defs: DEFINITIONS };
    assert.deepEqual(fields(whole, { x: value }), [["x", kind, text]]);
    assert.deepEqual(typed(whole, { x: value }, {}), { args: { x: value }, isChanged: false });
  },
);

table(
  "arguments without a fitting schema have no fields",
  [
    [null, { x: 1 }],
    [{ properties: null }, { x: 1 }],
    [schema({}), {}],
    [schema(many(41)), {}],
  ],
  (declared, args) => assert.equal(fieldsOf(declared, args), null),
);

test("forty arguments have a field each", () =>
  assert.equal(fieldsOf(schema(many(40)), {}).length, 40));

test("arguments that are given come first, those that no schema declares among them", () => {
  const args = JSON.parse('{"z": 1, "b": "x", "__proto__": 2}');
  assert.deepEqual(fields(schema({ a: TEXT, b: TEXT }), args), [
    ["b", "text", "x"],
    ["z", "json", "1"],
    ["__proto__", "json", "2"],
    ["a", "text", ""],
  ]);
});

test("a field says what its argument is for, and whether it is required", () => {
  const [first, second] = fieldsOf(
    schema({ a: { ...TEXT, description: "The first" }, b: { ...TEXT, description: 7 } }, "b"),
    {},
  );
  assert.deepEqual([first.about, first.isRequired], ["The first", false]);
  assert.deepEqual([second.about, second.isRequired], ["", true]);
});

table(
  "a text says its format, where it can be nothing else",
  [
    [{ ...TEXT, format: "date" }, "date"],
    [{ anyOf: [{ ...TEXT, format: "date" }, { type: "null" }] }, "date"],
    [{ anyOf: [{ ...TEXT, format: "date" }, TEXT] }, null],
    [{ anyOf: [{ ...TEXT, format: "date" }, COUNT] }, null],
    [TEXT, null],
  ],
  (declared, format) => assert.equal(fieldsOf(schema({ x: declared }), {})[0].format, format),
);

test("a date that is needed cannot be emptied", () => {
  const read = typed(
    schema({ day: { ...TEXT, format: "date" } }, "day"),
    { day: "2026-03-04" },
    { day: "" },
  );
  assert.deepEqual(read, { problems: ["A value is needed."] });
});

table(
  "typed text becomes a value of the declared type",
  [
    [TEXT, "a", "7", "7"],
    [TEXT, "a", "  ", "  "],
    [COUNT, 1, "-7", -7],
    [{ type: "number" }, 1, " 1.5e3 ", 1500],
    [COUNT_OR_TEXT, 3, "4", 4],
    [COUNT_OR_TEXT, 3, "four", "four"],
    [COUNT_OR_TEXT, "3", "4", "4"],
    [COLOURS, "red", "1", "green"],
    [{ type: "boolean" }, false, "0", true],
    [{ type: "array" }, [], "[1, null]", [1, null]],
    [{ anyOf: [COUNT, { type: "null" }] }, 3, "", null],
    [TEXT, "a", "", ""],
  ],
  (declared, before, text, after) =>
    assert.deepEqual(typed(schema({ x: declared }, "x"), { x: before }, { x: text }), {
      args: { x: after },
      isChanged: true,
    }),
);

table(
  "a text that is no value of the declared type gets a sentence",
  [
    [COUNT, 1, "1.5", "Enter a whole number."],
    [COUNT, 1, "0x10", "Enter a whole number."],
    [COUNT, 1, "12345678901234567890", "Enter a whole number."],
    [COUNT, 1, "", "A value is needed."],
    [COUNT, 1, " ", "A value is needed."],
    [{ type: "number" }, 1, "1,5", "Enter a number."],
    [{ type: "number" }, 1, "1e999", "Enter a number."],
    [{ type: "array" }, [], "[1", "This is not valid JSON."],
  ],
  (declared, before, text, problem) =>
    assert.deepEqual(typed(schema({ x: declared }, "x"), { x: before }, { x: text }), {
      problems: [problem],
    }),
);

test("each field has its own sentence, or none", () => {
  const declared = schema({ a: COUNT, b: TEXT, c: COUNT }, "a", "b", "c");
  const read = typed(declared, { a: 1, b: "x", c: 2 }, { a: "one", b: "y", c: "" });
  assert.deepEqual(read, { problems: ["Enter a whole number.", "", "A value is needed."] });
});

test("a required argument that was not given is asked for", () => {
  assert.deepEqual(typed(schema({ a: TEXT }, "a"), {}, {}), { problems: ["A value is needed."] });
});

test("an optional argument can be left out, and added", () => {
  const optional = schema({ a: TEXT, b: COUNT });
  assert.deepEqual(typed(optional, { a: "x" }, { a: "" }), { args: {}, isChanged: true });
  assert.deepEqual(typed(optional, { a: "x" }, { b: "2" }), {
    args: { a: "x", b: 2 },
    isChanged: true,
  });
});

test("an optional argument that is filled with spaces is left out, unless it is a text", () => {
  const optional = schema({ a: TEXT, b: { type: "array" } });
  assert.deepEqual(typed(optional, { a: "x", b: [] }, { a: " ", b: " " }), {
    args: { a: " " },
    isChanged: true,
  });
});

test("JSON with other spaces is no change", () => {
  const same = typed(schema({ a: { type: "array" } }), { a: [1, 2] }, { a: "[1,2]" });
  assert.deepEqual(same, { args: { a: [1, 2] }, isChanged: false });
});

table(
  "arguments that are edited as one text have to be a JSON object",
  [
    ["{}", { args: {}, isChanged: true }],
    ['{"a":1}', { args: { a: 1 }, isChanged: false }],
    ['{ "a": 1 }', { args: { a: 1 }, isChanged: false }],
    ["{", { problems: ["The arguments are not valid JSON."] }],
    ["[1]", { problems: ["The arguments have to be a JSON object: {…}."] }],
    ["null", { problems: ["The arguments have to be a JSON object: {…}."] }],
  ],
  (text, read) => assert.deepEqual(argsOfText({ a: 1 }, '{"a":1}', text), read),
);

table(
  "a number that the page would round is known",
  [
    [9007199254740991, true],
    [12345678901234567890, false],
    [1e300, false],
    [0.1, true],
    [{ a: [1, { b: 12345678901234567890 }] }, false],
    [{ a: [1, null, "x", true] }, true],
  ],
  (value, expected) => assert.equal(isExact(value), expected),
);

test("changes name what was changed, left out and added, in the order of the arguments", () => {
  const changes = changesOf({ same: 1, crew: 2, note: "x" }, { same: 1, crew: 4, urgent: true });
  assert.deepEqual(changes, [
    { name: "crew", before: "2", after: "4" },
    { name: "note", before: "x", after: undefined },
    { name: "urgent", before: undefined, after: "true" },
  ]);
});

test("options are named in words, without unseen characters", () => {
  assert.deepEqual([true, false, 3, "a\u202eb"].map(optionWords), [
    "Yes",
    "No",
    "3",
    String.raw`a\u202eb`,
  ]);
});

test("the fields that a tool's server asks for keep its order, titles and defaults", () => {
  const schema = {
    properties: {
      city: { type: "string", title: "City" },
      seat: {
        type: "string",
        oneOf: [
          { const: "a", title: "Aisle" },
          { const: "w", title: "Window" },
        ],
        default: "w",
      },
      nights: { type: "integer" },
      insured: { type: "boolean", default: false },
    },
    required: ["city"],
  };
  const fields = questionFields(schema);
  assert.deepEqual(
    fields.map(({ label, name, text }) => [label ?? name, text]),
    [
      ["City", ""],
      ["seat", "1"],
      ["nights", ""],
      ["insured", "1"],
    ],
  );
  assert.deepEqual(fields[1].words, ["Aisle", "Window"]);
  assert.deepEqual(argsOf(fields, ["Rome", "1", "2", "0"]).args, {
    city: "Rome",
    seat: "w",
    nights: 2,
    insured: true,
  });
  assert.deepEqual(argsOf(fields, ["", "1", "x", "1"]).problems, [
    "A value is needed.",
    "",
    "Enter a whole number.",
    "",
  ]);
  assert.deepEqual(questionFields({}), []);
});
