/** A problem in the words of a person who knows neither bodies nor calls. */

import assert from "node:assert/strict";
import { sentenceOf } from "../../static/js/sentences.js";
import { table } from "./tables.mjs";

table(
  "a problem has a sentence that names no field of a body",
  [
    [{ code: "thread_not_found", detail: "No thread x." }, "This thread is gone."],
    [
      { code: "body_too_large", detail: "x" },
      "The message is too large. Send less text, or fewer images.",
    ],
    [
      { code: "forbidden", detail: "Your role may not start runs." },
      "Your role may not start runs.",
    ],
    [
      { code: "invalid_body", detail: "message has 40000 characters: send at most 32000." },
      "The message has 40000 characters: send at most 32000.",
    ],
    [{ code: "invalid_body", detail: "edit.message.parts is empty." }, "The message is empty."],
    [{ code: "invalid_body", detail: "message_id is unknown." }, "message_id is unknown."],
    [{ code: "constructor", detail: "It failed." }, "It failed."],
    [{ code: "model_error", message: "The model failed." }, "The model failed."],
    [{}, "The server answered in a way that this page does not know."],
    [{ detail: [{ msg: "x" }] }, "The server answered in a way that this page does not know."],
  ],
  (problem, sentence) => assert.equal(sentenceOf(problem), sentence),
);
