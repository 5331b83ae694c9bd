/** @param {any} props @param {any} writing */
export const text = ({ categories, series }, { columns }) =>
  columns("Category", categories, series);
