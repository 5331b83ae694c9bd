/**
 * For `node --import`: the page's files are modules, though no package.json beside them says so.
 */

import * as module from "node:module";
import { load } from "./hooks.mjs";

// `register` is for Node before 22.15; later versions deprecate it.
if (module.registerHooks) module.registerHooks({ load });
else module.register("./hooks.mjs", import.meta.url);

// The page's settings are read from its document, where there are any.
globalThis.document ??= { baseURI: "http://page.test/desk/?thread=t", getElementById: () => null };
