export const text = ({ columns, rows }, { table }) =>
  table([
    columns.map(({ key, label }) => label ?? key),
    ...rows.map((row) => columns.map(({ key }) => (Object.hasOwn(row, key) ? row[key] : null))),
  ]);
