/** The list of keys, loaded with its styles when somebody asks for it. Its commands have letters while it is open. */

import { html, render } from "../vendor/lit-html/lit-html.js";
import { IS_MAC } from "./shortcuts.js";
import { styled } from "./styles.js";

const CONTROL = IS_MAC ? "⌘" : "Ctrl";

/** By letter: what it does, and the name of the action. */
const COMMANDS = {
  n: ["New thread", "onNew"],
  s: ["Search the threads", "onSearch"],
  t: ["To the list of threads", "onThreads"],
  m: ["To the message field", "onField"],
  c: ["Copy the last reply", "onCopy"],
  e: ["Edit the last message", "onEdit"],
};

/** Keys that are held together are a list; of several ways each is one. */
const GROUPS = [
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
      ["This list", [["Ctrl", "/"]]],
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

/** @param {HTMLDialogElement} dialog @param {object} actions  by the names in `COMMANDS` */
export function showKeys(dialog, actions) {
  const run = (name) => {
    dialog.close();
    actions[name]();
  };
  render(content(run), dialog);
  if (!dialog.open) dialog.showModal();
}

function content(run) {
  const struck = (event) => {
    const { ctrlKey, metaKey, altKey, repeat } = event;
    const letter = letterOf(event);
    if (ctrlKey || metaKey || altKey || repeat || !Object.hasOwn(COMMANDS, letter)) return;
    event.preventDefault();
    run(COMMANDS[letter][1]);
  };
  return html`
    <form method="dialog" @keydown=${struck}>
      <h2 id="keys-title">Keys</h2>
      <div class="keys-groups" tabindex="0" role="group" aria-labelledby="keys-title">
        <section>
          <h3>Commands: press the letter</h3>
          <ul>
            ${Object.entries(COMMANDS).map(
              ([letter, [words, name]]) => html`<li>
                <button type="button" class="quiet" @click=${() => run(name)}>${words} <kbd>${letter}</kbd></button>
              </li>`,
            )}
          </ul>
        </section>
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
      <p class="muted">What you type elsewhere goes to the message field.</p>
      <div class="dialog-bar"><button class="primary" autofocus>Close</button></div>
    </form>
  `;
}

/** With Caps Lock too. Of a key that writes another script, the Latin letter that the key has on most keyboards. */
const letterOf = ({ key, code }) => (/^\p{L}$/u.test(key) && !/^[a-z]$/i.test(key) ? code.replace("Key", "") : key).toLowerCase();

const way = (keys) => html`<span class="keys-way">${keys.map((key) => html`<kbd>${key}</kbd>`)}</span> `;
