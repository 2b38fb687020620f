// Light, dark, or as the system has it.

const KEY = "trelliswork-theme", ORDER = ["auto", "dark", "light"];

export function setUpTheme(button) {
  const show = (theme) => {
    if (theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", theme);
    button.textContent = `Colours: ${theme}`;
    button.setAttribute("aria-label", theme === "auto" ? "Colours: as the system has them" : `Colours: ${theme}`);
  };
  let theme = localStorage.getItem(KEY);
  if (!ORDER.includes(theme)) theme = "auto";
  show(theme);
  button.addEventListener("click", () => {
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    localStorage.setItem(KEY, theme);
    show(theme);
    document.dispatchEvent(new Event("theme"));
  });
}
