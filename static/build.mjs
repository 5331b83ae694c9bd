/**
 * Build `dist`, which servers serve, from the sources beside this file.
 *
 *     node static/build.mjs           write it
 *     node static/build.mjs --check   compare it, and write nothing
 *
 * Every name but `index.html`, `widget.js` and `texts.json` has the hash of its content, so a
 * browser keeps the file for good.
 * What the page always needs is one script and one style sheet. A module that is imported by
 * `import("…")` is a file of its own; so is a file that is addressed by `new URL("…",
 * import.meta.url)`.
 */

import { createHash } from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const DIST = path.join(HERE, "dist");
const esbuild = createRequire(path.join(HERE, "../tests/page/package.json"))("esbuild");

const IMPORTED = /\bimport\("([^"]+)"\)/g;
const ADDRESSED = /new URL\("([^"]+)", import\.meta\.url\)/g;
const NAMED = /((?:href|src)=")((?:css|js)\/[^"]+|icon\.svg)"/g;

/** Strings in JavaScript, of which a text is put together. */
const STRINGS = /((?:"(?:[^"\\]|\\.)*"\s*\+?\s*)+)/.source;
const TEXT = new RegExp(`(?<![\\w.])t\\(\\s*${STRINGS}`, "g");
const COUNTED = new RegExp(`(?<![\\w.])plural\\([^"]*?${STRINGS},\\s*${STRINGS}`, "g");
/** Texts in HTML: between tags, and in attributes that people read or hear. */
const WRITTEN = />([^<>]*[A-Za-z][^<>]*)<|\b(?:aria-label|title|placeholder)="([^"]*)"/g;

const OPTIONS = {
  absWorkingDir: HERE,
  outdir: "dist",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  format: "esm",
  minify: true,
  sourcemap: "linked",
  target: ["chrome123", "firefox128", "safari17.5"],
  metafile: true,
  write: false,
  logLevel: "warning",
};

const sources = ["js", "components"].flatMap((folder) =>
  fs
    .readdirSync(path.join(HERE, folder), { recursive: true })
    .filter((name) => name.endsWith(".js"))
    .map((name) => path.join(HERE, folder, name)),
);

/** The files that modules name in this way, from the folder of this file. */
function named(pattern) {
  const found = sources.flatMap((source) =>
    [...fs.readFileSync(source, "utf8").matchAll(pattern)].map(([, name]) =>
      path.relative(HERE, path.resolve(path.dirname(source), name)),
    ),
  );
  return new Set(found.sort());
}

/** The outputs by name, and the names of the outputs by entry point. */
async function bundled(options) {
  const { metafile, outputFiles } = await esbuild.build({ ...OPTIONS, ...options });
  const files = new Map(
    outputFiles.map((file) => [path.basename(file.path), Buffer.from(file.contents)]),
  );
  const outputs = Object.entries(metafile.outputs).map(([name, output]) => [
    path.basename(name),
    output,
  ]);
  const names = new Map(outputs.map(([name, { entryPoint }]) => [entryPoint, name]));
  return { files, names, outputs };
}

/** Style sheets, and scripts that share nothing with the rest. */
const bundledAssets = () =>
  bundled({ entryPoints: ["css/page.css", "js/theme-boot.js", ...named(ADDRESSED)] });

/**
 * The modules. esbuild puts modules into one file that are needed by the same entry points. Each
 * module that is loaded later imports `main.js` here, so that all that is loaded by then is one
 * file.
 */
async function bundledModules(addresses) {
  const later = named(IMPORTED);
  const onLoad = (file) => {
    const contents = fs.readFileSync(file, "utf8").replace(ADDRESSED, (_, name) => {
      const asset = path.relative(HERE, path.resolve(path.dirname(file), name));
      return `new URL("./${addresses.get(asset)}", import.meta.url)`;
    });
    const isLater = later.has(path.relative(HERE, file));
    const main = path.relative(path.dirname(file), path.join(HERE, "js/main.js"));
    return { contents: isLater ? `${contents}\nimport "./${main}";\n` : contents };
  };
  const plugin = {
    name: "page",
    setup: (build) => build.onLoad({ filter: /\.js$/ }, ({ path: file }) => onLoad(file)),
  };
  const built = await bundled({ entryPoints: ["js/main.js"], splitting: true, plugins: [plugin] });
  const [main, output] = built.outputs.find(([, { inputs }]) => inputs["js/main.js"]);
  const ahead = output.imports.filter(({ kind }) => kind === "import-statement");
  if (ahead.length) throw new Error(`${main} waits for ${ahead.map((each) => each.path)}`);
  // The entry point of esbuild only imports that file.
  const entry = built.names.get("js/main.js");
  if (entry !== main) for (const name of [entry, `${entry}.map`]) built.files.delete(name);
  built.names.set("js/main.js", main);
  return built;
}

/** The script for pages of other sites, which name it: its address stays the same. */
const bundledWidget = () =>
  bundled({ entryPoints: ["js/widget.js"], entryNames: "[name]", format: "iife" });

/** The texts of the page in English, in the form of a catalogue of another language. */
function texts() {
  const whole = (strings) =>
    [...strings.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([string]) => JSON.parse(string)).join("");
  const index = fs.readFileSync(path.join(HERE, "index.html"), "utf8").split("<body>")[1];
  const found = [...index.matchAll(WRITTEN)]
    .map(([, between, attribute]) => (between ?? attribute).trim().replace(/\s+/g, " "))
    .filter((text) => text !== "turnstream")
    .map((text) => [text, text]);
  for (const source of sources) {
    const code = fs.readFileSync(source, "utf8");
    for (const [, text] of code.matchAll(TEXT)) found.push([whole(text), whole(text)]);
    for (const [, one, many] of code.matchAll(COUNTED))
      found.push([whole(many), { one: whole(one), other: whole(many) }]);
  }
  found.sort(([one], [other]) => (one < other ? -1 : 1));
  return Buffer.from(`${JSON.stringify(Object.fromEntries(found), null, 1)}\n`);
}

/** The content of `dist`, by name. */
async function built() {
  const assets = await bundledAssets();
  const modules = await bundledModules(assets.names);
  const widget = await bundledWidget();
  const icon = fs.readFileSync(path.join(HERE, "icon.svg"));
  const hash = createHash("sha256").update(icon).digest("hex").slice(0, 8).toUpperCase();
  const iconName = `icon-${hash}.svg`;
  const names = new Map([...assets.names, ...modules.names, ["icon.svg", iconName]]);
  const index = fs
    .readFileSync(path.join(HERE, "index.html"), "utf8")
    .replace(NAMED, (_, attribute, name) => `${attribute}${names.get(name)}"`);
  return new Map([
    ...assets.files,
    ...modules.files,
    ...widget.files,
    [iconName, icon],
    ["index.html", Buffer.from(index)],
    ["texts.json", texts()],
  ]);
}

function isStale(files) {
  const there = fs.existsSync(DIST) ? fs.readdirSync(DIST) : [];
  const isSame = (name) => files.get(name)?.equals(fs.readFileSync(path.join(DIST, name)));
  return there.length !== files.size || !there.every(isSame);
}

function write(files) {
  fs.rmSync(DIST, { recursive: true, force: true });
  fs.mkdirSync(DIST);
  for (const [name, content] of files) fs.writeFileSync(path.join(DIST, name), content);
}

const files = await built();
if (process.argv.includes("--check")) {
  if (isStale(files)) {
    console.error("static/dist is not built from these sources: run `make page`, and commit it.");
    process.exitCode = 1;
  }
} else {
  write(files);
}
