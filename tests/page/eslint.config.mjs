/** Rules beyond formatting, for the page and for what builds and tests it. */

import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["static/dist/", "static/vendor/", "**/node_modules/"] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-implicit-globals": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "no-eval": "error",
      "no-new-func": "error",
      "object-shorthand": "error",
      "no-console": "error",
    },
  },
  {
    files: ["static/js/**", "static/components/**"],
    languageOptions: { globals: globals.browser },
  },
  {
    files: ["static/js/theme-boot.js", "static/js/widget.js"],
    languageOptions: { sourceType: "script" },
  },
  {
    files: ["static/build.mjs", "tests/page/**"],
    languageOptions: { globals: { ...globals.node, document: "readonly" } },
    rules: { "no-console": "off", "no-loss-of-precision": "off" },
  },
];
