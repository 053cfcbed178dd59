// An active run: adds the new data of its server to the data of the page (trace/report/data.py, `since`).
Report.growth = (() => {
  const ORDER = ["phase", "worker", "condition", "container", "probe"]; // of the lanes of a pod

  function add(run, added) {
    for (const each of added.strings) run.strings.push(each);
    run.lower?.push(...added.strings.map((each) => each.toLowerCase()));
    run.append(added.records);
    run.end = added.end;
    for (const [pod, changes] of Object.entries(added.facts)) {
      const name = run.strings[pod];
      run.facts.set(name, (run.facts.get(name) ?? []).concat(changes));
    }
    for (const pod of added.lanes) addLanes(run, pod, added.from);
    run.lanes.sort((one, other) => Report.compare(one.node, other.node) || one.number - other.number);
    for (const { lanes } of run.lanes) for (const lane of lanes) if (lane.open) extend(lane, run.end);
    run.data.tables = added.tables.map((table) => addRows(run.data.tables, table, added.from));
    run.nameParts();
  }

  function addLanes(run, added, from) {
    const name = run.strings[added.pod];
    let pod = run.lanes.find((each) => each.pod === name);
    if (!pod) run.lanes.push((pod = { number: added.number, pod: name, node: "", lanes: [] }));
    pod.node = run.strings[added.node];
    for (const { kind, name: number, bands, open } of added.lanes) {
      const title = run.strings[number];
      let lane = pod.lanes.find((each) => each.kind === kind && each.name === title);
      if (!lane) pod.lanes.push((lane = { kind, name: title, bands: [] }));
      const first = Math.min(from, ...bands.map(([begin]) => begin)); // from here on the server knows better
      lane.bands = [...lane.bands.filter(([begin]) => begin < first), ...bands];
      lane.open = open;
    }
    pod.lanes = pod.lanes.filter((lane) => lane.bands.length);
    pod.lanes.sort((one, other) => ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind));
  }

  /** The last band lasts until now. */
  function extend(lane, end) {
    const band = lane.bands[lane.bands.length - 1];
    band[1] = Math.max(end - band[0], 0);
  }

  function addRows(tables, added, from) {
    const table = tables.find((each) => each.plural === added.plural) ?? { ...added, rows: {} };
    for (const [key, versions] of Object.entries(added.rows))
      table.rows[key] = [...(table.rows[key] ?? []).filter(([t]) => t < from), ...versions];
    table.keys = null; // sorted on demand
    return table;
  }

  return { add };
})();
