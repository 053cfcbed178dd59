// What kubectl would print at this moment: a table for each kind of object that the run has.
Report.cluster = (() => {
  const { element, table } = Report.dom;

  function show(run, t, pod, kind) {
    const tables = run.data.tables ?? [];
    if (!tables.length) return [element("p", { class: "soft" }, "The objects of this run were not kept: give kubesim diff scenarios, not traces.")];
    return tables.filter((each) => each.plural === kind || (!kind && ["pods", "nodes", "events"].includes(each.plural)))
      .flatMap((each) => one(each, t, pod));
  }

  function one(kind, t, pod) {
    const all = Report.tables.rowsAt(kind, t);
    const rows = kind.plural === "events" && pod ? all.filter(([, cells]) => cells.includes(`pod/${pod.split("/")[1]}`)) : all;
    const command = kind.header[0] === "NAMESPACE" ? `kubectl get ${kind.plural} -A -o wide` : `kubectl get ${kind.plural} -o wide`;
    const title = element("h3", null, element("code", null, command));
    if (!rows.length) return [title, element("p", { class: "soft" }, "No resources found")];
    const MOST = 300;
    const cells = rows.slice(0, MOST).map(([, row]) => row);
    const more = rows.length > MOST ? [element("p", { class: "soft" }, `${rows.length - MOST} more: choose a pod`)] : [];
    const isChosen = (number) => (kind.plural === "pods" && rows[number][0] === pod ? "chosen" : null);
    return [title, table(kind.header, cells, `kubectl kubectl-${kind.plural}`, isChosen), ...more];
  }

  return { show };
})();
