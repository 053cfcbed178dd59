// What kubectl would print at this moment: a table for each kind of object that the run has.
Report.cluster = (() => {
  const { element, table } = Report.dom;
  const FIRST = ["pods", "nodes", "events"];
  const FEW = 20; // rows of each of several tables: a step must stay quick
  const MANY = 60; // rows of one table
  const NOT_KEPT = "The objects of this run were not kept: give kubesim diff scenarios, not traces.";

  function show(run, t, pod, kind) {
    const tables = run.data.tables ?? [];
    if (!tables.length) return [element("p", { class: "soft" }, NOT_KEPT)];
    return tables
      .filter((each) => (kind ? each.plural === kind : FIRST.includes(each.plural)))
      .flatMap((each) => one(each, t, pod, kind ? MANY : FEW));
  }

  function one(kind, t, pod, most) {
    const { rows, count } = Report.tables.rowsAt(kind, t, most, wanted(kind, pod, most));
    const all = kind.header[0] === "NAMESPACE" ? " -A" : "";
    const title = element("h2", null, element("code", null, `kubectl get ${kind.plural}${all} -o wide`));
    if (!count) return [title, element("p", { class: "soft" }, "No resources found")];
    const cells = rows.map(([, row]) => row);
    const isChosen = (number) => (kind.plural === "pods" && rows[number][0] === pod ? "chosen" : null);
    const rest = `and ${count - most} more rows: choose a pod, or this table alone`;
    const more = count > most ? [element("p", { class: "soft" }, rest)] : [];
    return [title, table(kind.header, cells, `kubectl kubectl-${kind.plural}`, isChosen), ...more];
  }

  /** Of a chosen pod its own Events, and of very many pods only itself; null: all rows. */
  function wanted(kind, pod, most) {
    if (!pod) return null;
    if (kind.plural === "events") return (key, cells) => cells.includes(`pod/${pod.split("/")[1]}`);
    return kind.plural === "pods" && Object.keys(kind.rows).length > most ? (key) => key === pod : null;
  }

  return { show };
})();
