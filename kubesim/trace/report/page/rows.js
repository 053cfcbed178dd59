// The rows of the swim lanes: a node, its parts, its pods; a pod that is expanded has a row for each of its lanes.
Report.rows = (() => {
  const HEIGHT = 20;
  const FEW = 3; // pods: no more than these are expanded at first

  function make(run, filter, expanded) {
    const rows = [];
    for (const node of run.nodes) {
      if (filter.node && filter.node !== node) continue;
      const isOpen = !expanded.has(`closed ${node}`);
      rows.push({ type: "node", key: `closed ${node}`, node, label: node, isOpen, level: 0 });
      if (!isOpen) continue;
      if (!filter.pod) rows.push(...partRows(run, node, expanded));
      for (const pod of run.lanes) if (pod.node === node && isShown(pod, filter)) rows.push(...podRows(pod, expanded));
    }
    const elsewhere = run.lanes.filter((pod) => !run.nodes.includes(pod.node) && !filter.node && isShown(pod, filter));
    for (const pod of elsewhere) rows.push(...podRows(pod, expanded));
    return rows;
  }

  function isShown(pod, filter) {
    return !filter.pod || filter.pod === pod.pod;
  }

  function partRows(run, node, expanded) {
    const key = `parts ${node}`;
    const isOpen = expanded.has(key);
    const head = { type: "parts", key, node, label: "components", isOpen, level: 1 };
    const parts = isOpen ? run.parts.map((part) => ({ type: "part", node, part, label: part, level: 2 })) : [];
    return [head, ...parts];
  }

  function podRows(pod, expanded) {
    const key = `pod ${pod.pod}`;
    const isOpen = expanded.has(key);
    const phase = pod.lanes.find((lane) => lane.kind === "phase");
    const head = {
      type: "pod",
      key,
      pod: pod.pod,
      node: pod.node,
      label: shortName(pod.pod),
      isOpen,
      level: 1,
      lane: phase,
    };
    const rest = pod.lanes.filter((lane) => lane !== phase);
    return isOpen
      ? [head, ...rest.map((lane) => ({ type: "lane", pod: pod.pod, label: laneName(lane), level: 2, lane }))]
      : [head];
  }

  function laneName(lane) {
    return lane.kind === "worker" ? "pod worker" : lane.name || lane.kind;
  }

  function shortName(pod) {
    return pod.replace(/^default\//, "");
  }

  /** Of few pods all are expanded at first. */
  function expandedAtFirst(run) {
    return new Set(run.lanes.length <= FEW ? run.lanes.map((pod) => `pod ${pod.pod}`) : []);
  }

  return { make, expandedAtFirst, shortName, HEIGHT };
})();
