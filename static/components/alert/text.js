export const text = ({ message }, { inline, quoted }) => quoted(inline(message));
