/** A field for text is as high as what is written in it, up to a share of the window. */

export function fitHeight(field, share) {
  field.style.height = "auto";
  // The border is not in the height of the content.
  const border = field.offsetHeight - field.clientHeight;
  field.style.height = `${Math.min(field.scrollHeight + border, innerHeight * share)}px`;
}
