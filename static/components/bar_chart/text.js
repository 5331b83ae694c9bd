export const text = ({ categories, series, x_label: label }, { columns }) =>
  columns(label ?? "Category", categories, series);
