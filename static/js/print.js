/** The open thread on paper. */

import { afterDrawing } from "./paint.js";

/**
 * Prints it whole: messages that are not loaded yet are loaded first. If one page of them cannot
 * be, nothing is printed.
 */
export async function printThread(thread) {
  const { id, looksAt } = thread.state;
  const isOpen = () => thread.state.id === id && thread.state.looksAt === looksAt;
  while (isOpen() && thread.state.hasEarlier) {
    await thread.earlier();
    if (thread.state.earlierFailed) return;
    await new Promise(afterDrawing);
  }
  if (isOpen()) print();
}
