// What kubectl would print at this moment: a table for each kind of object that the run has.
Report.cluster = (() => {
  const { element, table } = Report.dom;
  const MOST = 40; // rows of a table: a step must stay quick

  function show(run, t, pod, kind) {
    const tables = run.data.tables ?? [];
    if (!tables.length)
      return [
        element(
          "p",
          { class: "soft" },
          "The objects of this run were not kept: give kubesim diff scenarios, not traces.",
        ),
      ];
    return tables
      .filter((each) => each.plural === kind || (!kind && ["pods", "nodes", "events"].includes(each.plural)))
      .flatMap((each) => one(each, t, pod));
  }

  function one(kind, t, pod) {
    const isEvents = kind.plural === "events";
    const wanted = pod && isEvents ? (key, cells) => cells.includes(`pod/${pod.split("/")[1]}`) : null;
    const { rows, count } = Report.tables.rowsAt(kind, t, MOST, wanted);
    const command =
      kind.header[0] === "NAMESPACE" ? `kubectl get ${kind.plural} -A -o wide` : `kubectl get ${kind.plural} -o wide`;
    const title = element("h2", null, element("code", null, command));
    if (!count) return [title, element("p", { class: "soft" }, "No resources found")];
    const isChosen = (number) => (kind.plural === "pods" && rows[number][0] === pod ? "chosen" : null);
    const more =
      count > MOST
        ? [
            element(
              "p",
              { class: "soft" },
              `and ${count - MOST} more rows${isEvents ? ": choose a pod to see its own" : ""}`,
            ),
          ]
        : [];
    return [
      title,
      table(
        kind.header,
        rows.map(([, row]) => row),
        `kubectl kubectl-${kind.plural}`,
        isChosen,
      ),
      ...more,
    ];
  }

  return { show };
})();
