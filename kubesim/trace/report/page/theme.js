// The colours: those of the system, or light or dark; the canvas is drawn again with them.
Report.theme = (views) => {
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const order = ["auto", "light", "dark"];
  let chosen = "auto";
  const apply = () => {
    document.documentElement.dataset.theme = chosen === "auto" ? (dark.matches ? "dark" : "light") : chosen;
    button.textContent = `Colours: ${chosen}`;
    for (const view of views) view.lanes.draw();
  };
  dark.addEventListener("change", apply);
  button.addEventListener("click", () => {
    chosen = order[(order.indexOf(chosen) + 1) % order.length];
    apply();
  });
  window.addEventListener("beforeprint", () => views.forEach((view) => view.lanes.draw()));
  apply();
};
