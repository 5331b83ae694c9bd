export const text = ({ markdown }) => markdown;
