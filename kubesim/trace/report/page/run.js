// A run as the page asks it: records by position, the state at a record, what a pod's lanes are.
{
  Report.Run = class Run {
    constructor(data) {
      this.data = data;
      this.strings = data.strings;
      this.end = data.end;
      const columns = data.records.columns;
      this.count = columns.seq.length;
      this.seq = sums(columns.seq);
      this.t = sums(columns.t);
      this.columns = columns;
      this.facts = new Map(Object.entries(data.facts).map(([pod, changes]) => [this.strings[pod], changes]));
      this.lanes = data.lanes.map((each) => ({
        pod: this.strings[each.pod],
        node: this.strings[each.node],
        lanes: each.lanes.map((lane) => ({ ...lane, name: this.strings[lane.name] })),
      }));
      this.lanes.sort((one, other) => compare(one.node, other.node));
      this.nameParts();
    }

    /** The nodes, pods and parts of the records so far. */
    nameParts() {
      this.nodes = [...new Set([...this.data.nodes, ...this.lanes.map((each) => each.node)])].filter(Boolean);
      this.pods = [...new Set(this.columns.pod)].map((each) => this.strings[each]).filter(Boolean);
      this.parts = [...new Set(this.columns.part)].map((each) => this.strings[each]).sort();
    }

    /** Records are numbered by the differences to the one before, and so are those that are added (growth.js). */
    append({ columns, more }) {
      for (const [name, values] of Object.entries(columns)) {
        if (name === "seq" || name === "t") {
          let sum = this[name][this.count - 1] ?? 0;
          for (const each of values) this[name].push((sum += each));
        } else for (const each of values) this.columns[name].push(each);
      }
      this.count = this.seq.length;
      Object.assign(this.data.records.more, more);
      this.warned = null;
    }

    field(name, position) {
      return this.strings[this.columns[name][position]];
    }

    record(position) {
      const of = (name) => this.field(name, position);
      const back = this.columns.cause[position];
      return {
        position,
        seq: this.seq[position],
        t: this.t[position],
        kind: of("kind"),
        part: of("part"),
        node: of("node"),
        pod: of("pod"),
        container: of("container"),
        text: of("text"),
        why: of("why"),
        ref: of("ref"),
        tone: this.columns.tone[position],
        cause: back ? this.seq[position] - back : 0,
        more: this.data.records.more[this.seq[position]] ?? null,
      };
    }

    /** The position of the record with this number, or of the last one before it. */
    positionOf(seq) {
      return Math.max(last(this.seq, seq), 0);
    }

    /** The position of the last record at this time or before it. */
    positionAt(t) {
      return Math.max(last(this.t, t), 0);
    }

    /** The record, its cause, the cause of that, and so on. A cause that is not in the report ends it. */
    causes(position) {
      const chain = [];
      const seen = new Set();
      let at = position;
      while (at >= 0 && !seen.has(at)) {
        seen.add(at);
        const record = this.record(at);
        chain.push(record);
        const next = record.cause ? last(this.seq, record.cause) : -1;
        at = next >= 0 && this.seq[next] === record.cause ? next : -1;
      }
      return chain;
    }

    /** Names and texts of what is known of a pod before and after a record; "" is the node. */
    stateAt(pod, seq) {
      const before = new Map();
      const after = new Map();
      for (const [at, name, text] of this.facts.get(pod) ?? []) {
        if (at > seq) break;
        set(after, this.strings[name], this.strings[text]);
        if (at < seq) set(before, this.strings[name], this.strings[text]);
      }
      return { before, after };
    }

    /** What the containers of a pod have written by now: the last `most` lines. */
    logs(pod, position, most) {
      const kind = this.strings.indexOf("log");
      const wanted = pod ? this.strings.indexOf(pod) : -1;
      const found = [];
      for (let at = position; at >= 0 && found.length < most; at--) {
        if (this.columns.kind[at] === kind && (!pod || this.columns.pod[at] === wanted)) found.push(this.record(at));
      }
      return found.reverse();
    }

    /** The positions of the warnings and failures of a pod. */
    warnings(pod) {
      if (!this.warned) {
        this.warned = new Map();
        for (let at = 0; at < this.count; at++) {
          const about = this.columns.tone[at] >= 2 ? this.field("pod", at) : "";
          if (!about) continue;
          if (!this.warned.has(about)) this.warned.set(about, []);
          this.warned.get(about).push(at);
        }
      }
      return this.warned.get(pod) ?? [];
    }

    /** The positions of all records of a kind up to one. */
    ofKind(name, position) {
      const kind = this.strings.indexOf(name);
      const found = [];
      if (kind < 0) return found;
      for (let at = 0; at <= position; at++) if (this.columns.kind[at] === kind) found.push(at);
      return found;
    }
  };

  function sums(differences) {
    let sum = 0;
    return differences.map((each) => (sum += each));
  }

  function set(map, name, text) {
    if (text) map.set(name, text);
    else map.delete(name);
  }

  function compare(one, other) {
    return one < other ? -1 : one > other ? 1 : 0;
  }

  /** The index of the last value that is not greater; -1: there is none. The values ascend. */
  function last(values, limit) {
    let low = 0;
    let high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] <= limit) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  Report.last = last;
  Report.compare = compare;
}
