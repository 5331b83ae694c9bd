/** Loads each script of the page as a module, as `<script type="module">` does. */

const PAGE = new URL("../../static/", import.meta.url).href;

export const load = (url, context, next) =>
  next(
    url,
    url.startsWith(PAGE) && url.endsWith(".js") ? { ...context, format: "module" } : context,
  );
