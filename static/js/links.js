/** Which links of a model's text may be followed. */

const PROTOCOLS = ["http:", "https:", "mailto:"];

/** The address, or null. Absolute only: a stripped link must not become one to this page. */
export function safeLink(href) {
  let url;
  try {
    url = new URL(href);
  } catch {
    return null;
  }
  const isPlain = PROTOCOLS.includes(url.protocol) && !url.username && !url.password;
  return isPlain ? url.href : null;
}
