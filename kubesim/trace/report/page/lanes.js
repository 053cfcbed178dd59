// The swim lanes: rows that scroll, drawn only where they are seen; a click chooses a moment, a name opens a pod.
{
  Report.Lanes = class Lanes {
    constructor(run, place, label, end, { onTime, onPod }) {
      const { element } = Report.dom;
      this.run = run;
      this.onTime = onTime;
      this.onPod = onPod;
      this.end = end; // of the axis: of two runs that of the longer
      this.span = { begin: 0, end };
      this.filter = { node: "", pod: "", part: "" };
      this.expanded = Report.rows.expandedAtFirst(run);
      this.axis = element("canvas", { class: "axis", "aria-hidden": "true" });
      this.canvas = element("canvas", { class: "lanes-canvas", role: "img", "aria-label": summary(run) });
      this.labels = element("div", { class: "lane-labels" });
      this.room = element("div", { class: "lanes-room" }, this.canvas, this.labels);
      this.scroller = element(
        "div",
        { class: "lanes", tabindex: "0", role: "region", "aria-label": label },
        this.room,
      );
      this.playhead = element("div", { class: "playhead" });
      place.append(element("div", { class: "lanes-wrap" }, this.axis, this.scroller, this.playhead));
      this.scroller.addEventListener("scroll", () => this.draw());
      this.canvas.addEventListener("click", (event) => this.onTime(this.timeOf(event)));
      this.canvas.addEventListener("mousemove", (event) => this.point(event));
      this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      new ResizeObserver(() => this.draw()).observe(this.scroller);
      this.positions = new Map(); // of the records of each part of each node
      this.rows = [];
      this.t = 0;
      this.refresh();
    }

    /** After a change of the filters or of what is expanded. */
    refresh() {
      this.rows = Report.rows.make(this.run, this.filter, this.expanded);
      this.room.style.height = `${this.rows.length * Report.rows.HEIGHT + 8}px`;
      this.draw();
    }

    /** The run has more: what showed it to the end still does, and the first few pods are expanded. */
    grow() {
      const whole = this.span.begin === 0 && this.span.end >= this.end;
      this.end = Math.max(this.run.end, 1);
      if (whole) this.span.end = this.end;
      this.positions.clear();
      if (this.run.lanes.length !== this.pods)
        for (const key of Report.rows.expandedAtFirst(this.run)) this.expanded.add(key);
      this.pods = this.run.lanes.length;
      this.canvas.setAttribute("aria-label", summary(this.run));
      this.refresh();
    }

    draw() {
      const width = this.scroller.clientWidth;
      const height = this.scroller.clientHeight;
      if (!width || !height) return;
      const colour = Report.canvas.colours();
      Report.canvas.axis(Report.canvas.sized(this.axis, width, 24), this.span, width, 24, colour);
      const context = Report.canvas.sized(this.canvas, width, height);
      Report.canvas.grid(context, this.span, width, height, colour);
      const size = Report.rows.HEIGHT;
      const first = Math.floor(this.scroller.scrollTop / size);
      const shown = this.rows.slice(first, first + Math.ceil(height / size) + 1);
      shown.forEach((row, number) => {
        const top = (first + number) * size - this.scroller.scrollTop;
        if (row.lane) Report.canvas.bands(context, this.run, row.lane, this.span, width, top, size, colour);
        else if (row.type !== "node")
          Report.canvas.marks(context, this.run, this.marked(row), this.span, width, top, size, colour);
        if (row.type === "pod")
          Report.canvas.marks(context, this.run, this.run.warnings(row.pod), this.span, width, top + 10, 14, colour);
      });
      this.name(shown, first);
      this.move(this.t);
    }

    marked(row) {
      const key = `${row.node}\n${row.part ?? ""}`;
      if (!this.positions.has(key))
        this.positions.set(key, Report.search.filtered(this.run, { node: row.node, part: row.part ?? "" }) ?? []);
      return this.positions.get(key);
    }

    /** Names are elements, so that the keyboard and a screen reader reach them. */
    name(shown, first) {
      const { element } = Report.dom;
      const held = this.labels.contains(document.activeElement) ? document.activeElement.dataset.key : null;
      this.labels.replaceChildren(
        ...shown.map((row, number) => {
          const top = (first + number) * Report.rows.HEIGHT;
          const sign = row.isOpen ? "▾ " : "▸ ";
          const chosen = row.type === "pod" && row.pod === this.filter.chosen ? " chosen" : "";
          const made = row.key
            ? element(
                "button",
                {
                  type: "button",
                  class: `lane-label${chosen}`,
                  title: row.label,
                  "data-key": row.key,
                  "data-level": String(row.level),
                  "aria-expanded": String(row.isOpen),
                  onclick: () => this.toggle(row),
                },
                element("span", { "aria-hidden": "true" }, sign),
                row.label,
              )
            : element("div", { class: "lane-label", title: row.label }, row.label);
          made.style.top = `${top}px`;
          return made;
        }),
      );
      if (held) this.labels.querySelector(`[data-key="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
    }

    toggle(row) {
      if (!this.expanded.delete(row.key)) this.expanded.add(row.key);
      if (row.type === "pod") this.onPod(row.pod);
      this.refresh();
    }

    toggleAll() {
      const keys = this.run.lanes.map((pod) => `pod ${pod.pod}`);
      const isAny = keys.some((key) => this.expanded.has(key));
      for (const key of keys)
        if (isAny) this.expanded.delete(key);
        else this.expanded.add(key);
      this.refresh();
    }

    /** Put the line at a time; a time outside of what is seen comes into its middle. */
    move(t) {
      this.t = t;
      const { begin, end } = this.span;
      if (t < begin || t > end) {
        const length = end - begin;
        const from = Math.min(Math.max(t - length / 2, 0), Math.max(this.end - length, 0));
        this.span = { begin: from, end: from + length };
        this.draw();
        return;
      }
      const x = Report.canvas.scale(this.span, this.scroller.clientWidth).x(t);
      this.playhead.style.left = `${x}px`;
    }

    zoom(factor, around = this.t) {
      const { begin, end } = this.span;
      const whole = this.end;
      const length = Math.min(Math.max((end - begin) * factor, 1000), whole);
      const share = (around - begin) / Math.max(end - begin, 1);
      const from = Math.min(Math.max(around - share * length, 0), whole - length);
      this.span = { begin: from, end: from + length };
      this.draw();
    }

    wheel(event) {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeOf(event));
    }

    timeOf(event) {
      return Report.canvas.scale(this.span, this.scroller.clientWidth).t(event.offsetX);
    }

    point(event) {
      const row = this.rows[Math.floor((event.offsetY + this.scroller.scrollTop) / Report.rows.HEIGHT)];
      const t = this.timeOf(event);
      const band = row?.lane?.bands.find(([begin, length]) => begin <= t && t <= begin + length);
      const text = band
        ? `${this.run.strings[band[2]]}: ${Report.time.text(band[0])} to ${Report.time.text(band[0] + band[1])}`
        : "";
      if (this.canvas.title !== text) this.canvas.title = text;
    }
  };

  function summary(run) {
    const size = `${run.lanes.length} pods on ${run.nodes.length} nodes over ${Report.time.text(run.end)}`;
    return `${size}; the list of records has the same in words`;
  }
}
