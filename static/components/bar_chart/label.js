import { formatterOf } from "../../js/format.js";
import { t } from "../../js/texts.js";

/**
 * "apples, 2024: 3", of the value of a category in a series.
 *
 * @param {string} category @param {string} name @param {(number | null)[]} data
 * @param {number | null} value
 */
export const barLabel = (category, name, data, value) => {
  const words = value === null ? t("no value") : formatterOf(name, data)(value);
  return `${category}${name ? `, ${name}` : ""}: ${words}`;
};
