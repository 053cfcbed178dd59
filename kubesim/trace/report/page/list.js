// The list of records: only the rows that are seen exist. It is a listbox for the keyboard and for screen readers.
Report.List = class List {
  constructor(run, place, name, label, onChoose) {
    const { element } = Report.dom;
    this.run = run;
    this.onChoose = onChoose;
    this.name = name;
    this.room = element("div", { class: "list-room", role: "presentation" });
    this.box = element(
      "div",
      { class: "list", role: "listbox", tabindex: "0", "aria-label": `Records of ${label}` },
      this.room,
    );
    place.append(this.box);
    this.box.addEventListener("scroll", () => this.draw());
    this.box.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.show(this.position)).observe(this.box);
    this.positions = null; // null: all
    this.matches = new Set();
    this.position = 0;
    this.size = 24;
    this.limit(null);
  }

  get length() {
    return this.positions ? this.positions.length : this.run.count;
  }

  at(index) {
    return this.positions ? this.positions[index] : index;
  }

  /** The row of a position, or of the last one before it that is shown. */
  indexOf(position) {
    return this.positions ? Report.last(this.positions, position) : position;
  }

  /** The position itself if it is shown, else the last one before it, else the first. */
  shown(position) {
    const index = Math.max(this.indexOf(position), 0);
    return index < this.length ? this.at(index) : position;
  }

  limit(positions) {
    this.positions = positions;
    this.room.style.height = `${this.length * this.size}px`;
    this.show(this.position);
  }

  /** The same with more records; the reader stays where they are. */
  grow(positions) {
    this.positions = positions;
    this.room.style.height = `${this.length * this.size}px`;
    this.draw();
  }

  show(position) {
    this.position = position;
    const top = Math.max(this.indexOf(position), 0) * this.size;
    const height = this.box.clientHeight;
    if (top < this.box.scrollTop || top + this.size > this.box.scrollTop + height)
      this.box.scrollTop = Math.max(top - height / 2, 0);
    this.draw();
  }

  /** Up and down, as in every list; the other keys are those of the page. */
  key(event) {
    const page = Math.max(Math.floor(this.box.clientHeight / this.size) - 1, 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[event.key];
    if (!step || !this.length) return;
    event.preventDefault();
    const index = Math.max(this.indexOf(this.position), 0) + step;
    this.onChoose(this.at(Math.min(Math.max(index, 0), this.length - 1)));
  }

  draw() {
    const first = Math.max(Math.floor(this.box.scrollTop / this.size) - 2, 0);
    const after = Math.min(first + Math.ceil(this.box.clientHeight / this.size) + 4, this.length);
    const chosen = this.indexOf(this.position);
    const rows = [];
    for (let index = first; index < after; index++) rows.push(this.row(index, index === chosen));
    this.room.replaceChildren(...rows);
    const active = rows.find((row) => row.getAttribute("aria-selected") === "true");
    if (active) this.box.setAttribute("aria-activedescendant", active.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  row(index, isChosen) {
    const { element } = Report.dom;
    const position = this.at(index);
    const record = this.run.record(position);
    const about = [Report.rows.shortName(record.pod), record.container].filter(Boolean).join(":");
    const made = element(
      "div",
      {
        id: `${this.name}-${position}`,
        role: "option",
        "aria-selected": String(isChosen),
        "aria-posinset": String(index + 1),
        "aria-setsize": String(this.length),
        class: `list-row tone-${record.tone}${this.matches.has(position) ? " match" : ""}`,
        onclick: () => this.onChoose(position),
      },
      element("span", { class: "time" }, Report.time.text(record.t)),
      element("span", { class: "part" }, record.part),
      element("span", { class: "what" }, about ? `${about} · ${record.text}` : record.text),
    );
    made.style.top = `${index * this.size}px`;
    return made;
  }
};
