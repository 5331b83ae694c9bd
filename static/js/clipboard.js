/** Copying, and handing out files. */

/** Copy, and say so on the button for a moment. */
export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    mark(button, "copied");
  } catch {
    mark(button, "failed");
  }
}

function mark(button, state) {
  if (!button) return;
  button.dataset.copy = state;
  button.dispatchEvent(new CustomEvent("copied", { bubbles: true, detail: state }));
  setTimeout(() => delete button.dataset.copy, 1600);
}

export function download(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
