/** How the deployer wants the page: what the server has put into index.html. */

/**
 * @typedef {{label: string, message: string}} Prompt
 * @typedef {{heading?: string, prompts: Prompt[]}} PromptGroup
 * @typedef {{title?: string, welcome?: {heading?: string, text?: string}, prompts?: PromptGroup[],
 *   hidden?: string[], locale?: string, texts?: Record<string, string | Record<string, string>>}}
 *   Settings
 */

const told = document.getElementById("settings")?.textContent;

/** @type {Settings} */
export const settings = told ? JSON.parse(told) : {};

/** The language in which dates and numbers are written. */
export const LOCALE = settings.locale ?? "en";

/** How the hours of a day are counted: from 0 to 23, if not as the language of the page does. */
export const HOURS = settings.locale ? undefined : "h23";

export const TITLE = settings.title ?? "turnstream";

const hidden = new Set(settings.hidden);

/** A part of the page is not hidden by the deployer. @param {string} part */
export const shows = (part) => !hidden.has(part);
