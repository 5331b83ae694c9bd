import { t } from "../../js/texts.js";

/** @param {any} props @param {any} writing */
export const text = ({ categories, series }, { columns }) =>
  columns(t("Category"), categories, series);
