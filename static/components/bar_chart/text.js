import { t } from "../../js/texts.js";

export const text = ({ categories, series, x_label: label }, { columns }) =>
  columns(label ?? t("Category"), categories, series);
