// Elements. Texts become text nodes and nothing else: no text of a run is ever read as HTML.
Report.dom = (() => {
  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (name === "class") made.className = value;
      else made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
    return made;
  }

  /** A table; the first row is its head. `mark(row number)` answers the class of a row. */
  function table(head, rows, style, mark) {
    const cells = (row, tag, more) => row.map((cell) => element(tag, more, cell));
    return element(
      "table",
      { class: style },
      element("thead", null, element("tr", null, cells(head, "th", { scope: "col" }))),
      element(
        "tbody",
        null,
        rows.map((row, number) => element("tr", { class: mark?.(number) || null }, cells(row, "td"))),
      ),
    );
  }

  function option(value, text) {
    return element("option", { value }, text);
  }

  return { element, table, option };
})();
