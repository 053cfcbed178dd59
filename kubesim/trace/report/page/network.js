// The network: the drawing of the nodes at the end of the run if it is a real one, addresses now, plugin executions.
Report.network = (() => {
  const { element, table } = Report.dom;
  const MOST = 50; // rows

  function show(run, position, pod, drawing) {
    const parts = [];
    const wanted = run.lanes.filter((each) => !pod || each.pod === pod);
    const addresses = wanted
      .slice(0, MOST)
      .map((each) => [Report.rows.shortName(each.pod), each.node, address(run, each.pod, position)])
      .filter(([, , ip]) => ip);
    parts.push(element("h2", null, "Addresses now"));
    parts.push(
      addresses.length
        ? table(["pod", "node", "address"], addresses, "addresses")
        : element("p", { class: "soft" }, "No pod has an address."),
    );
    if (wanted.length > MOST)
      parts.push(element("p", { class: "soft" }, `Of the first ${MOST} pods: choose one to see its own.`));
    const executed = run
      .ofKind("cni.exec", position)
      .map((at) => run.record(at))
      .filter((each) => !pod || each.pod === pod);
    if (executed.length) {
      parts.push(element("h2", null, "Plugin executions so far"));
      parts.push(
        table(
          ["time", "pod", "execution", "addresses"],
          executed
            .slice(-MOST)
            .map((each) => [Report.time.text(each.t), Report.rows.shortName(each.pod), each.text, given(each)]),
          "executions",
        ),
      );
    }
    if (drawing) parts.push(element("h2", null, "At the end of the run"), drawing);
    return parts;
  }

  function address(run, pod, position) {
    return run.stateAt(pod, run.seq[position]).after.get("status: podIP") ?? "";
  }

  function given(record) {
    const ips = record.more?.result?.ips;
    return Array.isArray(ips) ? ips.map((each) => String(each?.address ?? "")).join(" ") : "";
  }

  return { show };
})();
