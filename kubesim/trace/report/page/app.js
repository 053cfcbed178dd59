// The page: the runs in it, the scrubber, search, filters, colours, keys and links.
Report.start = () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const get = (id) => document.getElementById(id);
  const { option } = Report.dom;
  const runs = data.runs.map((each) => new Report.Run(each));
  const filter = { node: "", pod: "", part: "" };
  let focus = 0; // the run that steps
  let query = "";
  let tab = "decision";
  let waiting = 0; // the timer that writes the address
  let following = false; // an active run, to its last record
  const end = Math.max(...runs.map((run) => run.end), 1); // two runs share one time
  const on = { isAlone: runs.length === 1, end, go: leadTo, tab: chooseTab, pod: choosePod };
  const places = { lanes: get("runs"), details: get("details") };
  if (runs.length > 1) for (const place of Object.values(places)) place.classList.add("two");
  const views = runs.map((run, number) => new Report.RunView(run, "ab"[number], run.data.label, places, on));

  Report.heading(data);
  filters();
  for (const name of Object.keys(filter)) get(`filter-${name}`).addEventListener("change", () => choose(name));
  search();
  steps();
  Report.theme(views);
  keys();
  follow(location.hash);
  if (!location.hash && data.first) toDifference();
  window.addEventListener("hashchange", () => {
    setFollowing(false);
    follow(location.hash);
  });
  if (data.live) live();
  document.documentElement.dataset.ready = "true";

  // -- where the page is ------------------------------------------------------------------------------------------

  function current() {
    return views[focus];
  }

  /** Show a record of one run; the others show what they had done by that time. */
  function go(view, position, time) {
    focus = views.indexOf(view);
    view.show(position, time);
    const { t } = view;
    for (const other of views) if (other !== view) other.show(other.run.positionAt(t), t);
    remember(showMoment());
  }

  /** The scrubber, and the words at it; the record that is shown. */
  function showMoment() {
    const view = current();
    const { t } = view;
    const record = view.run.count ? view.run.record(view.position) : null;
    const scrub = get("scrub");
    scrub.max = String(Math.max(view.list.length - 1, 0));
    scrub.value = String(Math.max(view.list.indexOf(view.position), 0));
    const which = record ? `record ${record.seq} of ${view.run.seq[view.run.count - 1]}` : "no records";
    const words = `${Report.time.text(t)} · ${which}`;
    get("moment").textContent = words;
    scrub.setAttribute("aria-valuetext", record ? `${words}: ${record.part}, ${record.text}` : words);
    return record;
  }

  /** Where the reader wants to be: the page stays there. */
  function leadTo(view, position, time) {
    setFollowing(false);
    go(view, position, time);
  }

  function moment(record) {
    return current().t === record.t ? { seq: record.seq } : { t: Math.round(current().t) };
  }

  function remember(record) {
    clearTimeout(waiting);
    const place = {
      ...(record && !following ? moment(record) : {}),
      ...filter,
      pod: filter.pod.replace(/^default\//, ""),
      q: query,
      tab: tab === "decision" ? "" : tab,
    };
    waiting = setTimeout(() => history.replaceState(null, "", Report.link.format(place)), 200);
  }

  function follow(hash) {
    const place = Report.link.parse(hash);
    const name = place.pod ? Report.link.fullPod(place.pod) : "";
    const isKnown = (list, value) => value && runs.some((run) => list(run).includes(value));
    filter.pod = isKnown((run) => run.pods, name) ? name : "";
    filter.node = isKnown((run) => run.nodes, place.node) ? place.node : "";
    filter.part = isKnown((run) => run.parts, place.part) ? place.part : "";
    tab = place.tab && ["decision", "state", "kubectl", "logs", "network"].includes(place.tab) ? place.tab : "decision";
    query = place.q ?? "";
    get("search").value = query;
    find();
    applyFilter();
    for (const view of views) view.tab = tab;
    const view = current();
    if (place.seq !== undefined) go(view, view.run.positionOf(place.seq));
    else if (place.t !== undefined)
      go(view, view.list.shown(view.run.positionAt(place.t)), Math.min(place.t, view.run.end));
    else go(view, view.list.shown(0));
  }

  /** Each run at its own record of the first difference; 0: it has none. */
  function toDifference() {
    const [left, right] = data.first;
    go(views[0], views[0].run.positionOf(left || right));
    if (right) views[1].show(views[1].run.positionOf(right));
  }

  function chooseTab(name) {
    tab = name;
    for (const view of views) {
      view.tab = name;
      view.draw();
    }
    remember(current().run.count ? current().run.record(current().position) : null);
  }

  function choosePod(pod) {
    for (const view of views) {
      view.pod = pod;
      view.lanes.filter.chosen = pod;
      view.draw();
    }
  }

  // -- an active run ---------------------------------------------------------------------------------------------

  function live() {
    get("live").hidden = false;
    get("follow").addEventListener("click", () => setFollowing(!following));
    setFollowing(!/[#&](t|seq)=/.test(location.hash));
    let place = location.hash; // what it names may not have happened yet
    const take = (added) => {
      Report.growth.add(runs[0], added);
      filters();
      views[0].grow(filter, query);
      if (query) found();
      if (place && runs[0].count) {
        follow(place);
        place = "";
      }
      const choosing = document.activeElement?.closest(".panel select"); // drawn again, its list would close
      if (following && !choosing) toEnd();
      else showMoment();
    };
    Report.live.follow(data.live, take, (state, words) => {
      get("live-state").textContent = words ?? "Live";
      document.documentElement.dataset.live = state;
      if (state !== "running") get("follow").hidden = true;
    });
  }

  function setFollowing(wanted) {
    if (!data.live) return;
    following = wanted;
    get("follow").setAttribute("aria-pressed", String(wanted));
    get("follow").textContent = wanted ? "Following" : "Follow";
    if (wanted) toEnd();
  }

  function toEnd() {
    const { list, run } = current();
    if (list.length) go(current(), list.at(list.length - 1), run.end);
  }

  // -- filters and search -----------------------------------------------------------------------------------------

  function filters() {
    const all = (of) => [...new Set(runs.flatMap(of))].sort();
    const lists = { node: all((run) => run.nodes), pod: all((run) => run.pods), part: all((run) => run.parts) };
    for (const [name, values] of Object.entries(lists)) {
      const select = get(`filter-${name}`);
      if (select.length === values.length + 1) continue;
      select.replaceChildren(
        option("", "all"),
        ...values.map((each) => option(each, name === "pod" ? Report.rows.shortName(each) : each)),
      );
      select.value = filter[name];
    }
  }

  function choose(name) {
    filter[name] = get(`filter-${name}`).value;
    applyFilter();
    go(current(), current().list.shown(current().position));
  }

  function applyFilter() {
    for (const name of Object.keys(filter)) get(`filter-${name}`).value = filter[name];
    for (const view of views) view.filter(filter);
  }

  function search() {
    get("search").addEventListener("input", () => {
      query = get("search").value;
      find();
    });
    get("search-form").addEventListener("submit", (event) => {
      event.preventDefault();
      toMatch(1);
    });
    get("next-match").addEventListener("click", () => toMatch(1));
    get("previous-match").addEventListener("click", () => toMatch(-1));
  }

  function find() {
    for (const view of views) view.find(query);
    found();
  }

  function found() {
    const count = views.reduce((sum, view) => sum + view.matches.length, 0);
    get("found").textContent = query ? `${count} found` : "";
  }

  function toMatch(step) {
    const position = current().match(step);
    if (position >= 0) leadTo(current(), position);
  }

  // -- stepping ---------------------------------------------------------------------------------------------------

  function steps() {
    const scrub = get("scrub");
    scrub.addEventListener("input", () => leadTo(current(), current().list.at(Number(scrub.value))));
    for (const button of document.querySelectorAll("[data-step]"))
      button.addEventListener("click", () => step(button.dataset.step));
  }

  function step(where) {
    const { list, position } = current();
    if (!list.length) return;
    const index = list.indexOf(position);
    const next = {
      first: 0,
      last: list.length - 1,
      previous: index - (list.at(index) === position ? 1 : 0),
      next: index + 1,
    }[where];
    leadTo(current(), list.at(Math.min(Math.max(next, 0), list.length - 1)));
  }

  /** To the next record that is not only a turn of the loop. */
  function stepDecision(direction) {
    const { list, run, position } = current();
    const dull = new Set([
      "source.snapshot",
      "config.update",
      "loop.select",
      "handler",
      "worker.update",
      "sync.begin",
      "status.set",
    ]);
    let index = list.indexOf(position) + direction;
    while (index > 0 && index < list.length - 1 && dull.has(run.field("kind", list.at(index)))) index += direction;
    if (index >= 0 && index < list.length) leadTo(current(), list.at(index));
  }

  function toCause() {
    const [, cause] = current().run.causes(current().position);
    if (cause) leadTo(current(), cause.position);
  }

  // -- keys -------------------------------------------------------------------------------------------------------

  function keys() {
    const help = get("help");
    get("help-button").addEventListener("click", () => help.showModal());
    get("help-close").addEventListener("click", () => help.close());
    const zoom = (factor) => views.forEach((view) => view.lanes.zoom(factor));
    const tabs = ["decision", "state", "kubectl", "logs", "network"];
    const actions = {
      ArrowLeft: (event) => (event.shiftKey ? stepDecision(-1) : step("previous")),
      ArrowRight: (event) => (event.shiftKey ? stepDecision(1) : step("next")),
      Home: () => step("first"),
      End: () => step("last"),
      c: toCause,
      f: () => setFollowing(!following),
      "/": () => get("search").focus(),
      n: () => toMatch(1),
      N: () => toMatch(-1),
      "+": () => zoom(0.5),
      "=": () => zoom(0.5),
      "-": () => zoom(2),
      0: () => zoom(Infinity),
      e: () => views.forEach((view) => view.lanes.toggleAll()),
      "?": () => help.showModal(),
      ...Object.fromEntries(tabs.map((name, number) => [String(number + 1), () => chooseTab(name)])),
    };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
      const target = event.target;
      if (target.matches("input[type=search], select, textarea")) {
        if (event.key === "Escape") target.blur();
        return;
      }
      const action = actions[event.key];
      if (!action) return;
      event.preventDefault();
      action(event);
    });
  }
};

if (typeof document !== "undefined") Report.start();
