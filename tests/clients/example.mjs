// One of the example apps, as a browser would have it: its own index.html and main.jsx, in a page of
// another origin than the server's, driven by what is on the screen.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { ORIGIN, page } from "./page.mjs";
import { build } from "esbuild";
import { changes, serve, until } from "./driver.mjs";

const examples = fileURLToPath(new URL("../../docs/examples/", import.meta.url));
const here = fileURLToPath(new URL(".", import.meta.url));
const { document } = page.window;

/** What a browser does to a fetch of a page of another origin. */
function crossOrigin(fetch, onAnswer) {
  return async (input, init = {}) => {
    const method = init.method ?? "GET";
    const headers = new Headers(init.headers);
    headers.set("origin", ORIGIN);
    if (headers.has("content-type")) {
      const asked = { origin: ORIGIN, "access-control-request-method": method };
      asked["access-control-request-headers"] = [...headers.keys()].join(",");
      allowed(await fetch(input, { method: "OPTIONS", headers: asked }));
    }
    const response = allowed(await fetch(input, { ...init, headers }));
    onAnswer(`${method} ${new URL(input).pathname}`);
    return response;
  };
}

function allowed(response) {
  if (response.headers.get("access-control-allow-origin") === ORIGIN) return response;
  throw new TypeError("Failed to fetch");
}

async function bundle(example, url) {
  const outfile = `${here}node_modules/.turnstream/${example}.mjs`;
  await build({
    entryPoints: [`${examples}${example}/main.jsx`],
    outfile,
    bundle: true,
    packages: "external",
    format: "esm",
    jsx: "automatic",
    define: { "import.meta.env.VITE_SERVER": JSON.stringify(url) },
    logLevel: "silent",
  });
  return outfile;
}

serve(async ({ example, url, hash = "", storage = {} }) => {
  const alerts = [];
  const answered = new Set();
  const change = changes();
  const html = await readFile(`${examples}${example}/index.html`, "utf8");
  document.body.innerHTML = new page.window.DOMParser().parseFromString(html, "text/html").body.innerHTML;
  page.window.location.hash = hash;
  for (const [key, value] of Object.entries(storage)) sessionStorage.setItem(key, value);
  globalThis.alert = (message) => {
    alerts.push(message);
    change.tell();
  };
  globalThis.fetch = crossOrigin(globalThis.fetch, (request) => {
    answered.add(request);
    change.tell();
  });
  new page.window.MutationObserver(change.tell).observe(document.body, {
    subtree: true,
    childList: true,
    characterData: true,
    attributes: true,
  });
  await import(await bundle(example, url));

  const button = (name) =>
    [...document.querySelectorAll("button")].find(
      (element) => element.textContent.trim() === name && !element.disabled,
    );
  const choice = (value) => document.querySelector(`input[value="${value}"]:enabled`);
  const seen = (holds) => until(change.subscribe, holds);
  async function write(selector, text) {
    await seen(() => document.querySelector(selector));
    const field = document.querySelector(selector);
    const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value");
    set.call(field, text);
    field.dispatchEvent(new page.window.Event("input", { bubbles: true }));
  }
  const press = (name) => seen(() => button(name)).then(() => button(name).click());

  return {
    press: ({ name }) => press(name),
    choose: ({ value }) =>
      // The question's text streams in before its options do.
      seen(() => choice(value)).then(() => choice(value).click()),
    async type({ text }) {
      await write("[aria-label=Message]", text);
      await press("Send");
    },
    write: ({ name, text }) => write(`[name=${name}]`, text),
    shows: ({ text }) => seen(() => document.body.textContent.includes(text)),
    offers: ({ name }) => seen(() => button(name)),
    answered: ({ request }) => seen(() => answered.has(request)),
    alerted: () => seen(() => alerts.length > 0),
    withdraws: ({ name }) => seen(() => !button(name)),
    report: () => ({
      text: document.body.textContent,
      hash: page.window.location.hash.slice(1),
      storage: { ...sessionStorage },
      alerts,
    }),
  };
});
