/** Characters that are not seen. */

const UNSEEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\udb40[\udc00-\udc7f]/g;

/**
 * Characters that are not seen, or that reorder those around them, as escapes: what somebody
 * approves is what is there. JSON stays the same JSON.
 */
export const visible = (text) => text.replace(UNSEEN, (found) => found.split("").map(escaped).join(""));

const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
