/** The list of keys, loaded with its styles when somebody asks for it. */

import { html, render } from "../vendor/lit-html/lit-html.js";
import { IS_MAC, lettersOn, setLetters } from "./shortcuts.js";
import { styled } from "./styles.js";

const CONTROL = IS_MAC ? "⌘" : "Ctrl";

/** Keys that are held together are a list; of several ways each is one. */
const GROUPS = [
  [
    "Where nobody types",
    [
      ["New thread", [["n"]]],
      ["Search the threads", [["s"]]],
      ["To the list of threads", [["t"]]],
      ["To the message field", [["m"]]],
      ["Copy the last reply", [["c"]]],
      ["Edit the last message", [["e"]]],
      ["This list", [["?"]]],
    ],
  ],
  [
    "In the message field",
    [
      ["Send; queue while a reply is written", [["Enter"]]],
      ["Stop the reply and send", [[CONTROL, "Enter"]]],
      ["New line", [["Shift", "Enter"]]],
      ["Edit the last message, if the field is empty", [["↑"]]],
      ["Leave the field", [["Esc"]]],
    ],
  ],
  [
    "Anywhere",
    [
      ["Search the threads", [[CONTROL, "Shift", "F"]]],
      ["Stop the reply", [["Esc"]]],
    ],
  ],
  [
    "In the list of threads",
    [
      ["Up and down, to the first, to the last", [["↑"], ["↓"], ["Home"], ["End"]]],
      ["Open", [["Enter"]]],
      ["To a thread's buttons and back", [["→"], ["←"]]],
      ["Rename, delete", [["F2"], ["Delete"]]],
    ],
  ],
];

await styled("keys");

/** @param {HTMLDialogElement} dialog */
export function showKeys(dialog) {
  render(content(), dialog);
  if (!dialog.open) dialog.showModal();
}

const content = () => html`
  <form method="dialog">
    <h2 id="keys-title">Keys</h2>
    <div class="keys-groups" tabindex="0" role="group" aria-labelledby="keys-title">
      ${GROUPS.map(
        ([heading, rows]) => html`
          <section>
            <h3>${heading}</h3>
            <dl>
              ${rows.map(([words, ways]) => html`<div><dt>${words}</dt><dd>${ways.map(way)}</dd></div>`)}
            </dl>
          </section>
        `,
      )}
    </div>
    <label class="keys-letters">
      <input type="checkbox" .checked=${lettersOn()} @change=${({ target }) => setLetters(target.checked)} />
      Keys without ${CONTROL}, where nobody types
    </label>
    <div class="dialog-bar"><button class="primary" autofocus>Close</button></div>
  </form>
`;

const way = (keys) => html`<span class="keys-way">${keys.map((key) => html`<kbd>${key}</kbd>`)}</span> `;
