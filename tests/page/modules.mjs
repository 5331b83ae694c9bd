/** For `node --import`: the page's files are modules, though no package.json beside them says so. */

import { register } from "node:module";

register("./hooks.mjs", import.meta.url);
