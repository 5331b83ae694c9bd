/**
 * Make a tree of nodes as a newer one is, and keep the nodes that both have: what is selected,
 * focused or scrolled in them stays so while a text grows.
 */

/** What a person's click has set, which no newer tree takes back. */
const OF_A_PERSON = ["data-copy", "data-copy-words", "open"];

/** @param {Element} old  is changed @param {Element} fresh  gives up what it has */
export function patch(old, fresh) {
  patchAttributes(old, fresh);
  const before = [...old.childNodes];
  const after = [...fresh.childNodes];
  for (const [i, node] of after.entries()) patchNode(old, before[i], node);
  for (const node of before.slice(after.length)) node.remove();
}

/** @param {Element} parent @param {ChildNode | undefined} old @param {ChildNode} fresh */
function patchNode(parent, old, fresh) {
  if (!old) parent.append(fresh);
  else if (old.nodeName !== fresh.nodeName) old.replaceWith(fresh);
  else if (old instanceof Element && fresh instanceof Element) patch(old, fresh);
  else if (old instanceof Text && fresh instanceof Text) patchText(old, fresh.data);
}

/**
 * What is put behind a text leaves a selection in it as it is.
 *
 * @param {Text} old @param {string} text
 */
function patchText(old, text) {
  if (text === old.data) return;
  if (text.startsWith(old.data)) old.appendData(text.slice(old.data.length));
  else old.data = text;
}

/** @param {Element} old @param {Element} fresh */
function patchAttributes(old, fresh) {
  for (const { name, value } of fresh.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes])
    if (!fresh.hasAttribute(name) && !OF_A_PERSON.includes(name)) old.removeAttribute(name);
}
