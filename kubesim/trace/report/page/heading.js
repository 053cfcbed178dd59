// What stands above the lanes: the title, how the run ended, the first difference of two runs.
Report.heading = (data) => {
  const get = (id) => document.getElementById(id);
  const { element } = Report.dom;
  get("title").textContent = data.title;
  const outcome = get("outcome");
  for (const text of data.outcome)
    outcome.append(element("span", { class: text.failed ? "failed" : null }, text.text), " ");
  if (!data.difference.length) return;
  const title = data.difference.find((line) => line.startsWith("First difference")) ?? data.difference[0];
  const words = element("pre", { tabindex: "0" }, data.difference.join("\n"));
  get("difference").append(element("details", null, element("summary", null, title), words));
  get("difference").hidden = false;
};
