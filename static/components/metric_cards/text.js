export const text = ({ cards }, { table }) =>
  table([
    ["Figure", "Value", "Change"],
    ...cards.map(({ label, value, unit, delta }) => [
      label,
      [value, unit].filter((word) => word || word === 0).join(" "),
      delta,
    ]),
  ]);
