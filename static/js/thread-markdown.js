/**
 * Messages as Markdown: what was said as it was written, charts as tables of their data. Labels,
 * names and cells come from anywhere: no character of theirs is markup.
 */

import { inJson } from "./bounds.js";
import { componentText, inline, quoted } from "./component-text.js";
import { callOf, resolvedOf } from "./components.js";
import { safeLink } from "./links.js";
import { isDrawn, isOfBrowser, RENDER, SELECT } from "./parts.js";
import { answersWords, resultWords } from "./selection.js";
import { CUT_OFF, sentenceOf } from "./sentences.js";
import { t } from "./texts.js";

/**
 * @param {{title: string, messages: Record<string, any>[]}} thread  with its parts as they are
 *   shown
 */
export function threadMarkdown({ title, messages }) {
  const images = [];
  const parts = [
    `# ${inline(title || t("Untitled"))}`,
    ...messages.map((message) => said(message, images)),
  ];
  const sources = images.map((address, i) => `[image-${i + 1}]: ${address}`);
  return `${[...parts, sources.join("\n")].filter(Boolean).join("\n\n")}\n`;
}

/** The words of an answer, and the data of what it shows. */
export const answerMarkdown = ({ parts }) =>
  blocks(parts, (part) =>
    part.type === "text" ? part.text : isDrawn(part) && (shown(part) || call(part)),
  );

/** The pages that an answer is based on. */
function sourcesOf({ parts }) {
  const sources = parts.filter(({ type }) => type === "source");
  const links = new Map(sources.map(({ url, title }) => [url, inline(title || url)]));
  const lines = [...links].map(([url, words], index) =>
    safeLink(url) ? `${index + 1}. [${words}](<${safeLink(url)}>)` : `${index + 1}. ${words}`,
  );
  return lines.length ? [t("Sources"), ...lines].join("\n") : "";
}

const blocks = (parts, block) => parts.map(block).filter(Boolean).join("\n\n");

function said(message, images) {
  const body = blocks(message.parts, (part) => (VIEWS[part.type] ?? nothing)(part, images));
  const name = message.role === "user" ? t("You") : t("Assistant");
  return [`## ${name}`, body, sourcesOf(message), end(message)].filter(Boolean).join("\n\n");
}

function end({ ended, error, finishReason }) {
  if (error) return quoted(`${t("Failed:")} ${inline(sentenceOf(error))}`);
  if (ended) return quoted(`${t("Not finished:")} ${inline(ended.reason)}`);
  return Object.hasOwn(CUT_OFF, finishReason) ? quoted(CUT_OFF[finishReason]) : "";
}

const nothing = () => "";

const VIEWS = {
  text: ({ text }) => text,
  reasoning: ({ text }) => quoted(`${t("Thought:")} ${text}`),
  image({ image, alt }, images) {
    images.push(image);
    return `![${inline(alt || t("Image"))}][image-${images.length}]`;
  },
  "tool-call": (part) => shown(part) || call(part),
};

/** Of a component or a question; empty of any other call. */
function shown(part) {
  if (part.toolName === RENDER && part.state === "shown") return component(callOf(part) ?? {});
  if (isOfBrowser(part)) return ofBrowser(part);
  return part.toolName === SELECT ? question(part) : "";
}

function component(call) {
  const found = resolvedOf(call);
  if (!found) return "";
  const note = typeof call.note === "string" ? quoted(inline(call.note)) : "";
  return [componentText(found.component, found.props), note].filter(Boolean).join("\n\n");
}

/** A call of a UI tool of the graph, with its answer; empty if nothing draws it. */
function ofBrowser(part) {
  if (!["shown", "pending", "result"].includes(part.state)) return "";
  const drawn = component(callOf(part));
  if (!drawn || part.disposition !== "client") return drawn;
  const words = part.state === "result" ? resultWords(part.result) : t("not answered");
  return `${drawn}\n\n${quoted(`${t("Answer:")} ${inline(words)}`)}`;
}

function question({ args, state, result }) {
  const { value, values, date, start, end, answers, cancelled } = result ?? {};
  const filled = answers && answersWords(answers, args?.fields);
  const chosen = values ?? [
    value ?? date ?? filled ?? (start && t("{start} to {end}", { start, end })),
  ];
  const isAnswered = state === "result" && !cancelled;
  const answer = isAnswered
    ? chosen
        .filter((item) => item !== undefined)
        .map((item) => inline(String(item)))
        .join(", ")
    : t("not answered");
  return quoted(`${inline(args?.prompt ?? t("Question"))}: ${answer || t("nothing")}`);
}

function call({ toolName, argsText, state, result }) {
  const told = result === undefined ? [] : [code(inJson(result))];
  return [
    `**${t("Tool {name}", { name: inline(toolName) })}** (${inline(state)})`,
    code(argsText || "{}"),
    ...told,
  ].join("\n\n");
}

/** A fence that no line of the text can close. */
function code(text) {
  const longest = (text.match(/`+/g) ?? []).reduce((most, { length }) => Math.max(most, length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}json\n${text}\n${fence}`;
}
