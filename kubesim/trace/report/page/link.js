// Deep links: `#t=42.1&pod=web`, `#seq=17&tab=logs`, `#q=BackOff`. What a link does not name stays as it is.
Report.link = (() => {
  const NAMES = ["t", "seq", "pod", "node", "part", "q", "tab"];

  function parse(hash) {
    const found = {};
    for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
      if (NAMES.includes(name) && value) found[name] = value;
    }
    if (found.t !== undefined) {
      const t = Report.time.parse(found.t);
      if (t === null) delete found.t;
      else found.t = t;
    }
    if (found.seq !== undefined) {
      const seq = Number(found.seq);
      if (Number.isInteger(seq) && seq > 0) found.seq = seq;
      else delete found.seq;
    }
    return found;
  }

  function format(place) {
    const parts = new URLSearchParams();
    for (const name of NAMES) {
      if (place[name] === undefined || place[name] === "") continue;
      parts.set(name, name === "t" ? String(place.t / Report.time.SECOND) : String(place[name]));
    }
    return `#${parts}`;
  }

  /** The full name of a pod: one without a namespace is in `default`. */
  function fullPod(name) {
    return name.includes("/") ? name : `default/${name}`;
  }

  return { parse, format, fullPod };
})();
