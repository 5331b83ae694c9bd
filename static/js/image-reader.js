/**
 * A file to an image that can be sent: of a kind that models take, no larger than they look at, the
 * right way up, and without what a camera writes beside the picture (such as where it was taken).
 */

import { t } from "./texts.js";

const MAX_SIDE = 1568;
const MAX_FILE_BYTES = 50_000_000;
const MAX_ANIMATION_BYTES = 1_000_000;
/** A larger PNG is a photograph more often than a drawing. */
const MAX_PNG_BYTES = 1_500_000;
const QUALITY = 0.88;

/** @type {[string, number[]][]} */
const MARKS = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["image/webp", [0x52, 0x49, 0x46, 0x46, -1, -1, -1, -1, 0x57, 0x45, 0x42, 0x50]],
];

/**
 * @param {File} file
 * @param {string[]} types  that the server takes
 * @returns {Promise<string>} a `data:` URL
 * @throws {Error} with a sentence for whoever has chosen the file
 */
export async function readImage(file, types) {
  const type = await kindOf(file);
  if (!types.includes(type))
    throw new Error(
      t("“{file}” is not an image that can be sent: {types}.", {
        file: file.name,
        types: listed(types),
      }),
    );
  if (file.size > MAX_FILE_BYTES)
    throw new Error(
      t("“{file}” is too large: {size} at most.", {
        file: file.name,
        size: megabytes(MAX_FILE_BYTES),
      }),
    );
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { imageOrientation: "from-image" });
  } catch {
    const words = t("“{file}” cannot be read: it is broken, or too large.", { file: file.name });
    throw new Error(words);
  }
  try {
    const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
    const isKept = type === "image/gif" && scale === 1 && file.size <= MAX_ANIMATION_BYTES;
    return await dataUrlOf(isKept ? new Blob([file], { type }) : await drawn(bitmap, scale, type));
  } finally {
    bitmap.close();
  }
}

/** What it is by its first bytes, whatever its name says. */
async function kindOf(file) {
  const head = new Uint8Array(await file.slice(0, 12).arrayBuffer());
  return MARKS.find(([, mark]) => mark.every((byte, i) => byte < 0 || head[i] === byte))?.[0];
}

async function drawn(bitmap, scale, type) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  const draw = () => context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  draw();
  const first = await encoded(canvas, type === "image/gif" ? "image/png" : type);
  if (first.type !== "image/png" || first.size <= MAX_PNG_BYTES) return first;
  context.globalCompositeOperation = "destination-over";
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  const flat = await encoded(canvas, "image/jpeg");
  return flat.size < first.size ? flat : first;
}

/** A type that the browser cannot write becomes a PNG. */
const encoded = (canvas, type) =>
  new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error(t("The image cannot be made smaller.")))),
      type,
      QUALITY,
    );
  });

const dataUrlOf = (blob) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result));
    reader.addEventListener("error", () => reject(new Error(t("The image cannot be read."))));
    reader.readAsDataURL(blob);
  });

const listed = (types) => types.map((type) => type.replace("image/", "").toUpperCase()).join(", ");
const megabytes = (bytes) => `${bytes / 1_000_000} MB`;
