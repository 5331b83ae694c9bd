/** @param {any} props @param {any} writing */
export const text = ({ x, series, x_label: label }, { columns }) =>
  columns(label ?? "x", x, series);
