export const text = ({ value, unit = "" }, { inline }) => `At ${value} ${inline(unit)}`.trim();
