// One record: what happened, why, which function upstream does so, what it changed, and what led to it.
Report.details = (() => {
  const { element, table } = Report.dom;

  function decision(run, position, go) {
    const record = run.record(position);
    const about = [
      record.node && `node ${record.node}`,
      record.pod && `pod ${Report.rows.shortName(record.pod)}`,
      record.container && `container ${record.container}`,
    ]
      .filter(Boolean)
      .join(", ");
    return [
      element("h2", null, `${record.part}: ${record.text}`),
      element(
        "p",
        { class: "soft" },
        `${Report.time.text(record.t)} · record ${record.seq} · ${record.kind}${about ? ` · ${about}` : ""}`,
      ),
      ...(record.why
        ? [element("h3", null, "Why"), ...record.why.split("; ").map((each) => element("p", null, each))]
        : []),
      ...(record.ref ? [element("h3", null, "Upstream"), element("p", null, element("code", null, record.ref))] : []),
      ...changes(run, record),
      ...chain(run, position, go),
      ...values(record),
    ];
  }

  function changes(run, record) {
    const { before, after } = run.stateAt(record.pod, record.seq);
    const names = [...new Set([...before.keys(), ...after.keys()])].filter(
      (name) => before.get(name) !== after.get(name),
    );
    if (!names.length) return [];
    const rows = names.map((name) => [name, before.get(name) ?? "none", after.get(name) ?? "none"]);
    return [element("h3", null, "Changed by it"), table(["fact", "before", "after"], rows, "changes")];
  }

  function chain(run, position, go) {
    const causes = run.causes(position).slice(1);
    if (!causes.length) return [];
    const items = causes.map((each) =>
      element(
        "li",
        null,
        element(
          "button",
          { type: "button", onclick: () => go(each.position) },
          `${Report.time.text(each.t)} ${each.part}: ${each.text}`,
        ),
      ),
    );
    return [element("h3", null, "Because of"), element("ol", { class: "chain" }, items)];
  }

  function values(record) {
    if (!record.more) return [];
    return [element("h3", null, "Values"), element("pre", { class: "log" }, JSON.stringify(record.more, null, 2))];
  }

  /** Everything that is known of the pod of the record, or of its node; what the record changed is marked. */
  function state(run, position, pod) {
    const record = run.record(position);
    const { before, after } = run.stateAt(pod, record.seq);
    const names = [...new Set([...before.keys(), ...after.keys()])];
    const isChanged = (name) => before.get(name) !== after.get(name);
    const rows = names.map((name) => [name, before.get(name) ?? "", after.get(name) ?? "gone"]);
    const title = pod ? `Pod ${Report.rows.shortName(pod)}` : "Nodes";
    return [
      element("h2", null, `${title} before and after record ${record.seq}`),
      names.length
        ? table(["fact", "before", "after"], rows, "state", (number) => (isChanged(names[number]) ? "changed" : null))
        : element("p", { class: "soft" }, "Nothing is known yet."),
    ];
  }

  function logs(run, position, pod) {
    const MOST = 200;
    const lines = run.logs(pod, position, MOST);
    const title = pod ? `Output of pod ${Report.rows.shortName(pod)}` : "Output of all containers";
    if (!lines.length)
      return [element("h2", null, title), element("p", { class: "soft" }, "Nothing was written so far.")];
    const text = (each) =>
      [Report.time.text(each.t), pod ? "" : Report.rows.shortName(each.pod), `${each.container}:`, each.text]
        .filter(Boolean)
        .join(" ") + "\n";
    return [
      element("h2", null, title),
      lines.length === MOST ? element("p", { class: "soft" }, `The last ${MOST} lines.`) : "",
      element(
        "pre",
        { class: "log" },
        lines.map((each) => element("span", { class: each.text.endsWith("(stderr)") ? "error" : null }, text(each))),
      ),
    ].filter(Boolean);
  }

  return { decision, state, logs };
})();
