/**
 * Check the types of the page with TypeScript: `node tests/page/types.mjs`.
 *
 * Every module is checked. A new one is checked strictly: its parameters have types, and null is no
 * value of another type. `not-strict.json` names the modules that are older than this check; one
 * that passes it by now, or is gone, has to leave the list.
 */

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const TSC = fileURLToPath(new URL("node_modules/.bin/tsc", import.meta.url));
const NOT_STRICT = new Set(
  JSON.parse(fs.readFileSync(new URL("not-strict.json", import.meta.url))),
);

/** The errors in modules of ours: what TypeScript makes of a library's code is no fault of it. */
function errors(...options) {
  const command = ["-p", "tests/page/tsconfig.json", "--pretty", "false", ...options];
  const { stdout, error, status } = spawnSync(TSC, command, { cwd: ROOT, encoding: "utf8" });
  if (error) throw error;
  const found = stdout.split("\n").filter((line) => /^static\/(js|components)\//.test(line));
  const isBroken = status !== 0 && !stdout.includes("static/");
  return (isBroken ? stdout.split("\n") : found).map((line) => [line.split("(")[0], line]);
}

const strict = errors("--strict");
const wrong = strict.filter(([file]) => !NOT_STRICT.has(file));
const known = new Set(wrong.map(([file]) => file));
wrong.push(...errors().filter(([file]) => !known.has(file)));
const strictFiles = new Set(strict.map(([file]) => file));
for (const file of NOT_STRICT) {
  if (!strictFiles.has(file)) wrong.push([file, `${file}: take it out of not-strict.json`]);
}
for (const [, line] of wrong) console.error(line);
process.exitCode = wrong.length ? 1 : 0;
