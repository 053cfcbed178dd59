// Search and filters: words that must all be found, in any field or in the one that is named (`pod:web`).
Report.search = (() => {
  const FIELDS = ["pod", "node", "part", "kind", "container"];
  const TEXTS = ["text", "why", "ref", "pod", "container", "kind"];

  function parse(query) {
    return query
      .toLowerCase()
      .split(/\s+/)
      .filter(Boolean)
      .map((word) => {
        const [name, ...rest] = word.split(":");
        return FIELDS.includes(name) && rest.length && rest.join(":")
          ? { fields: [name], word: rest.join(":") }
          : { fields: TEXTS, word };
      });
  }

  /** Which texts have a word, each text once: there are many records and few texts. */
  function texts(run, word) {
    run.lower ??= run.strings.map((each) => each.toLowerCase());
    return run.lower.map((each) => each.includes(word));
  }

  /** The positions of all records with all words. */
  function find(run, query) {
    const wanted = parse(query).map(({ fields, word }) => ({
      columns: fields.map((name) => run.columns[name]),
      has: texts(run, word),
    }));
    if (!wanted.length) return [];
    const found = [];
    for (let at = 0; at < run.count; at++) {
      if (wanted.every(({ columns, has }) => columns.some((column) => has[column[at]]))) found.push(at);
    }
    return found;
  }

  /** The positions that the filters show; null: all. A record about no pod belongs to every pod of its cause. */
  function filtered(run, { node, pod, part }) {
    if (!node && !pod && !part) return null;
    const number = (text) => (text ? run.strings.indexOf(text) : null);
    const [ofNode, ofPod, ofPart] = [number(node), number(pod), number(part)];
    const found = [];
    for (let at = 0; at < run.count; at++) {
      if (ofPart !== null && run.columns.part[at] !== ofPart) continue;
      if (ofPod !== null && run.columns.pod[at] !== ofPod) continue;
      if (ofNode !== null && run.columns.node[at] !== ofNode) continue;
      found.push(at);
    }
    return found;
  }

  return { parse, find, filtered };
})();
