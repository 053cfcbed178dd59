// One run on the page: its lanes, its list of records, and the tabs about the record that is chosen.
Report.RunView = class RunView {
  constructor(run, name, label, places, on) {
    const { element } = Report.dom;
    this.run = run;
    this.name = name;
    this.on = on;
    this.position = 0;
    this.t = 0;
    this.pod = "";
    this.tab = "decision";
    this.kind = "";
    const place = element(
      "section",
      { class: "run", "aria-label": `Lanes of ${label}` },
      on.isAlone ? "" : element("h2", { class: "run-name" }, label),
    );
    const group = element("section", { class: "panel-group", "aria-label": `Records of ${label}` });
    places.lanes.append(place);
    places.details.append(group);
    this.lanes = new Report.Lanes(run, place, on.isAlone ? "Swim lanes" : `Swim lanes of ${label}`, on.end, {
      onTime: (t) => on.go(this, run.positionAt(t), t),
      onPod: (pod) => on.pod(pod),
    });
    this.list = new Report.List(run, group, name, label, (position) => on.go(this, position));
    this.panel = this.makePanel();
    group.append(this.panel);
    this.drawing = name === "a" ? document.querySelector("#drawing svg") : null;
  }

  makePanel() {
    const { element } = Report.dom;
    const titles = { decision: "Decision", state: "State", kubectl: "kubectl", logs: "Logs", network: "Network" };
    this.tabs = element(
      "div",
      { class: "tabs", role: "tablist", "aria-label": "Details" },
      Object.entries(titles).map(([tab, title]) =>
        element(
          "button",
          {
            type: "button",
            role: "tab",
            id: `${this.name}-tab-${tab}`,
            "aria-controls": `${this.name}-panel`,
            "data-tab": tab,
            onclick: () => this.on.tab(tab),
          },
          title,
        ),
      ),
    );
    this.tabs.addEventListener("keydown", (event) => this.moveTab(event));
    this.body = element("div", { class: "tab", role: "tabpanel", id: `${this.name}-panel`, tabindex: "0" });
    return element("div", { class: "panel" }, this.tabs, this.body);
  }

  moveTab(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const all = [...this.tabs.children];
    const next = all[(all.findIndex((each) => each.dataset.tab === this.tab) + step + all.length) % all.length];
    this.on.tab(next.dataset.tab);
    next.focus();
  }

  /** The pod that the state is about: the one that is chosen, else that of the record, else the only one. */
  get about() {
    const only = this.run.pods.length === 1 ? this.run.pods[0] : "";
    return this.pod || this.run.field("pod", this.position) || only;
  }

  filter(filter) {
    this.pod = filter.pod;
    if (filter.pod) this.lanes.expanded.add(`pod ${filter.pod}`);
    this.lanes.filter = { ...filter, chosen: filter.pod };
    this.lanes.refresh();
    this.list.limit(Report.search.filtered(this.run, filter));
  }

  /** After the run has got more records. */
  grow(filter, query) {
    this.lanes.grow();
    this.list.grow(Report.search.filtered(this.run, filter));
    if (query) this.find(query);
    if (!this.grown) this.show(0);
    this.grown = this.run.count > 0;
  }

  find(query) {
    this.matches = Report.search.find(this.run, query);
    this.list.matches = new Set(this.matches);
    this.list.draw();
    return this.matches.length;
  }

  /** The next match in a direction, round the end; -1: there is none. */
  match(step) {
    if (!this.matches?.length) return -1;
    const at = Report.last(this.matches, this.position);
    const exact = this.matches[at] === this.position;
    const index = step > 0 ? at + 1 : exact ? at - 1 : at;
    return this.matches[(index + this.matches.length) % this.matches.length];
  }

  /** `t` may be later than the record: then time has passed without one. */
  show(position, t) {
    this.position = Math.min(Math.max(position, 0), Math.max(this.run.count - 1, 0));
    this.list.show(this.position);
    this.t = t ?? this.run.t[this.position] ?? 0;
    this.lanes.move(this.t);
    this.draw();
  }

  draw() {
    for (const button of this.tabs.children) {
      const isChosen = button.dataset.tab === this.tab;
      button.setAttribute("aria-selected", String(isChosen));
      button.tabIndex = isChosen ? 0 : -1;
    }
    this.body.setAttribute("aria-labelledby", `${this.name}-tab-${this.tab}`);
    this.body.replaceChildren(...this.contents());
  }

  contents() {
    const { run, position } = this;
    if (!run.count && this.tab !== "kubectl" && this.tab !== "network")
      return [Report.dom.element("p", null, "Nothing is recorded.")];
    switch (this.tab) {
      case "state":
        return Report.details.state(run, position, this.about);
      case "kubectl":
        return [this.kinds(), ...Report.cluster.show(run, this.t, this.pod, this.kind)];
      case "logs":
        return Report.details.logs(run, position, this.pod);
      case "network":
        return Report.network.show(run, position, this.pod, this.drawing);
      default:
        return Report.details.decision(run, position, (at) => this.on.go(this, at));
    }
  }

  kinds() {
    const { element, option } = Report.dom;
    const select = element(
      "select",
      {
        onchange: (event) => {
          this.kind = event.target.value;
          this.draw();
        },
      },
      option("", "pods, nodes, events"),
      (this.run.data.tables ?? []).map((each) => option(each.plural, each.plural)),
    );
    select.value = this.kind;
    return element("label", { class: "soft" }, "Show ", select);
  }
};
