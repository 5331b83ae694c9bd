/** A problem in the words of a person who knows neither bodies nor calls. */

import assert from "node:assert/strict";
import { sentenceOf } from "../../static/js/sentences.js";
import { table } from "./tables.mjs";

table(
  "a problem has a sentence that names no field of a body",
  [
    [{ code: "thread_not_found", message: "No thread x." }, "This thread is gone."],
    [
      { code: "body_too_large", message: "x" },
      "The message is too large. Send less text, or fewer images.",
    ],
    [
      { code: "forbidden", message: "Your role may not start runs." },
      "Your role may not start runs.",
    ],
    [
      { code: "invalid_body", message: "message has 40000 characters: send at most 32000." },
      "The message has 40000 characters: send at most 32000.",
    ],
    [{ code: "invalid_body", message: "edit.message.parts is empty." }, "The message is empty."],
    [{ code: "invalid_body", message: "message_id is unknown." }, "message_id is unknown."],
    [{ code: "constructor", message: "It failed." }, "It failed."],
    [new Error("It failed."), "It failed."],
  ],
  (problem, sentence) => assert.equal(sentenceOf(problem), sentence),
);
