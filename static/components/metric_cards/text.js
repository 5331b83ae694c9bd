import { t } from "../../js/texts.js";

export const text = ({ cards }, { table }) =>
  table([
    [t("Figure"), t("Value"), t("Change")],
    ...cards.map(({ label, value, unit, delta }) => [
      label,
      [value, unit].filter((word) => word || word === 0).join(" "),
      delta,
    ]),
  ]);
