/**
 * The list of keys, loaded with its styles when somebody asks for it. Its commands have letters
 * while it is open.
 */

import { html, render } from "../vendor/lit-html/lit-html.js";
import { BUSY } from "./editing.js";
import { shows } from "./settings.js";
import { IS_MAC } from "./shortcuts.js";
import { styled } from "./styles.js";
import { t } from "./texts.js";

const CONTROL = IS_MAC ? "⌘" : "Ctrl";

const CAN_SEARCH = shows("threads") && shows("search");

/** By letter: what it does, and how. @returns {Object<string, [string, () => void]>} */
function commandsOf({ thread, composer, notice, log, onOpen }, actions) {
  const refuse = (words) => notice.say(thread.busy ? BUSY : words);
  const begin = async () => {
    await onOpen(null);
    composer.focus();
  };
  const copy = () => {
    const reply = [...log.querySelectorAll(".message.assistant")].at(-1);
    const button = reply?.querySelector(".actions .copy-message");
    if (button) button.click();
    else refuse(t("There is no reply to copy."));
  };
  return {
    n: [t("New thread"), begin],
    ...(CAN_SEARCH && { s: [t("Search the threads"), actions.onSearch] }),
    ...(shows("threads") && { t: [t("To the list of threads"), actions.onThreads] }),
    m: [t("To the message field"), actions.onField],
    c: [t("Copy the last reply"), copy],
    e: [
      t("Edit the last message"),
      () => actions.onEditLast() || refuse(t("There is no message to edit.")),
    ],
  };
}

/**
 * Keys that are held together are a list; of several ways each is one.
 *
 * @type {([string, ([string, string[][]] | false)[]] | false)[]}
 */
const GROUPS = [
  [
    t("In the message field"),
    [
      [t("Send; queue while a reply is written"), [["Enter"]]],
      [t("Stop the reply and send"), [[CONTROL, "Enter"]]],
      [t("New line"), [["Shift", "Enter"]]],
      [t("Edit the last message, if the field is empty"), [["↑"]]],
      [t("Leave the field"), [["Esc"]]],
    ],
  ],
  [
    t("Anywhere"),
    [
      [t("This list"), [["Ctrl", "/"]]],
      CAN_SEARCH && [t("Search the threads"), [[CONTROL, "Shift", "F"]]],
      [t("Stop the reply"), [["Esc"]]],
    ],
  ],
  shows("threads") && [
    t("In the list of threads"),
    [
      [t("Up and down, to the first, to the last"), [["↑"], ["↓"], ["Home"], ["End"]]],
      [t("Open"), [["Enter"]]],
      [t("To a thread's buttons and back"), [["→"], ["←"]]],
      shows("rename") && [t("Rename"), [["F2"]]],
      shows("delete") && [t("Delete"), [["Delete"]]],
    ],
  ],
];

await styled("keys");

/** @param {any} page @param {Record<string, any>} actions  see `key-actions.js` */
export function showKeys(page, actions) {
  const { keys: dialog } = page;
  const run = (command) => {
    dialog.close();
    command();
  };
  render(content(commandsOf(page, actions), run), dialog);
  if (!dialog.open) dialog.showModal();
}

function content(commands, run) {
  const struck = (event) => {
    const { ctrlKey, metaKey, altKey, repeat } = event;
    const letter = letterOf(event);
    if (ctrlKey || metaKey || altKey || repeat || !Object.hasOwn(commands, letter)) return;
    event.preventDefault();
    run(commands[letter][1]);
  };
  return html`
    <form method="dialog" @keydown=${struck}>
      <h2 id="keys-title">${t("Keys")}</h2>
      <div class="keys-groups" tabindex="0" role="group" aria-labelledby="keys-title">
        <section>
          <h3>${t("Commands: press the letter")}</h3>
          <ul>
            ${Object.entries(commands).map(
              ([letter, [words, command]]) =>
                html`<li>
                  <button type="button" class="quiet" @click=${() => run(command)}>
                    ${words} <kbd>${letter}</kbd>
                  </button>
                </li>`,
            )}
          </ul>
        </section>
        ${GROUPS.filter((group) => group !== false).map(
          ([heading, rows]) => html`
            <section>
              <h3>${heading}</h3>
              <dl>
                ${rows
                  .filter((row) => row !== false)
                  .map(
                    ([words, ways]) =>
                      html`<div>
                        <dt>${words}</dt>
                        <dd>${ways.map(way)}</dd>
                      </div>`,
                  )}
              </dl>
            </section>
          `,
        )}
      </div>
      <p class="muted">${t("What you type elsewhere goes to the message field.")}</p>
      <div class="dialog-bar"><button class="primary" autofocus>${t("Close")}</button></div>
    </form>
  `;
}

/**
 * With Caps Lock too. Of a key that writes another script, the Latin letter that the key has on
 * most keyboards.
 */
const letterOf = ({ key, code }) =>
  (/^\p{L}$/u.test(key) && !/^[a-z]$/i.test(key) ? code.replace("Key", "") : key).toLowerCase();

const way = (keys) =>
  html`<span class="keys-way">${keys.map((key) => html`<kbd>${key}</kbd>`)}</span> `;
