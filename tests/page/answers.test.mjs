/** What a person answers. */

import assert from "node:assert/strict";
import test from "node:test";
import { Answers } from "../../static/js/answers.js";

test("of two answers to a question the first is sent and shown", async () => {
  const posted = [];
  const thread = {
    state: { answers: {}, messages: [] },
    set: (changes) => Object.assign(thread.state, changes),
    run: { whenOver: (start) => start() },
    posts: { post: ({ tool_results }) => posted.push(...tool_results) },
  };
  const answers = new Answers(thread);
  await Promise.all([answers.answer("c1", "2C"), answers.answer("c1", "1A")]);
  assert.deepEqual(posted, [{ tool_call_id: "c1", result: "2C" }]);
  assert.equal(thread.state.answers.c1.result, "2C");
});
