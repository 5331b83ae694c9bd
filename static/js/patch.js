/**
 * Make a tree of nodes as a newer one is, and keep the nodes that both have: what is selected,
 * focused or scrolled in them stays so while a text grows.
 */

/** What a person's click has set, which no newer tree takes back. */
const OF_A_PERSON = ["data-copy", "data-copy-words", "open"];

/** Nodes that a tree has got from elsewhere. @type {WeakSet<Node>} */
const joined = new WeakSet();

/**
 * Nodes that join a tree stay in it when it is made as a newer one is, behind those that are.
 *
 * @param {Element} old  is changed @param {Element} fresh  gives up what it has
 */
export function patch(old, fresh) {
  patchAttributes(old, fresh);
  const nodes = [...old.childNodes];
  const next = nodes.find((node) => joined.has(node)) ?? null;
  const before = nodes.filter((node) => !joined.has(node));
  patchNodes(old, before, [...fresh.childNodes], next);
}

/**
 * Nodes join a tree, in place of those that joined it before them.
 *
 * @param {Element} parent @param {ChildNode[]} before @param {ChildNode[]} fresh
 * @returns {ChildNode[]}  those that have joined it
 */
export function join(parent, before, fresh) {
  const own = before.filter((node) => node.parentNode === parent);
  const nodes = patchNodes(parent, own, fresh, own.at(-1)?.nextSibling ?? null);
  for (const node of nodes) joined.add(node);
  return nodes;
}

/**
 * @param {Element} parent @param {ChildNode[]} before @param {ChildNode[]} fresh
 * @param {ChildNode | null} next  stands behind them
 */
function patchNodes(parent, before, fresh, next) {
  const nodes = fresh.map((node, i) => patched(before[i], node));
  for (const node of nodes.slice(before.length)) parent.insertBefore(node, next);
  for (const node of before.slice(fresh.length)) node.remove();
  return nodes;
}

/** @param {ChildNode | undefined} old @param {ChildNode} fresh */
function patched(old, fresh) {
  if (!old) return fresh;
  if (old instanceof Element && fresh instanceof Element && old.nodeName === fresh.nodeName)
    patch(old, fresh);
  else if (old instanceof Text && fresh instanceof Text) patchText(old, fresh.data);
  else {
    old.replaceWith(fresh);
    return fresh;
  }
  return old;
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
