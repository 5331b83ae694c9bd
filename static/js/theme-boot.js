// Before the first paint, so that a dark page never flashes light; theme.js does the rest.
{
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
