// What `kubectl get -A -o wide` prints at a moment. A mark with a moment in a cell becomes the age at this time.
Report.tables = (() => {
  const MARK = /\u0001(-?\d+)\u0001/g;

  /** The rows of a table at `t` without the header, by namespace and name: the first `most` of those that are
   * `wanted`, and how many there are. Of the others no cell is made: a table may have thousands of rows. */
  function rowsAt(table, t, most = Infinity, wanted = null) {
    table.keys ??= Object.keys(table.rows).sort(byName);
    const rows = [];
    let count = 0;
    for (const key of table.keys) {
      const versions = table.rows[key];
      const at = lastVersion(versions, t);
      if (at < 0 || !versions[at][1] || (wanted && !wanted(key, versions[at][1]))) continue;
      count++;
      if (rows.length < most) rows.push([key, versions[at][1].map((cell) => withAges(cell, t))]);
    }
    return { rows, count };
  }

  function byName(one, other) {
    const [left, right] = [one.split("/"), other.split("/")];
    return Report.compare(left[0], right[0]) || Report.compare(left[1], right[1]);
  }

  function lastVersion(versions, t) {
    let at = -1;
    while (at + 1 < versions.length && versions[at + 1][0] <= t) at++;
    return at;
  }

  function withAges(cell, t) {
    return cell.replace(MARK, (_, since) => Report.time.age(t - Number(since)));
  }

  return { rowsAt, withAges };
})();
