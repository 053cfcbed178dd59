// The parts of the report that need no browser: times, links, the run, tables, search, rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load, smallRun } from "./load.mjs";

const Report = load("time.js", "link.js", "run.js", "tables.js", "search.js", "rows.js");
const run = smallRun(Report);
const plain = (value) => JSON.parse(JSON.stringify(value)); // of another scope
const SECOND = 1000000;

test("a time is short and keeps its width", () => {
  assert.equal(Report.time.text(0), "0.000s");
  assert.equal(Report.time.text(42.1 * SECOND), "42.100s");
  assert.equal(Report.time.text(303.2 * SECOND), "5m03.200s");
  assert.equal(Report.time.text(3605 * SECOND), "1h00m05.000s");
});

test("a time is read as seconds or as a duration of Go", () => {
  assert.equal(Report.time.parse("42.1"), 42100000);
  assert.equal(Report.time.parse("1m30s"), 90 * SECOND);
  assert.equal(Report.time.parse("250ms"), 250000);
  for (const wrong of ["", "soon", "-1", "1 m", "1e9"]) assert.equal(Report.time.parse(wrong), null);
});

test("ticks are at round times, and not too many", () => {
  assert.deepEqual(
    plain(Report.time.ticks(0, 60 * SECOND, 6)).map(([, text]) => text),
    ["0s", "10s", "20s", "30s", "40s", "50s", "1m"],
  );
  assert.deepEqual(
    plain(Report.time.ticks(0, 4000, 4)).map(([, text]) => text),
    ["0.000s", "0.001s", "0.002s", "0.003s", "0.004s"],
  );
  assert.ok(Report.time.ticks(0, 1e15, 10).length <= 11);
});

test("a link holds a moment, filters and a tab, and ignores what it does not know", () => {
  assert.deepEqual(plain(Report.link.parse("#t=42.1&pod=web")), { t: 42100000, pod: "web" });
  assert.deepEqual(plain(Report.link.parse("#seq=17&tab=logs&x=<b>")), { seq: 17, tab: "logs" });
  assert.deepEqual(plain(Report.link.parse("#seq=-1&t=never")), {});
  const place = { t: 42100000, pod: "kube-system/a&b", q: "x=1 #" };
  assert.deepEqual(plain(Report.link.parse(Report.link.format(place))), place);
  assert.equal(Report.link.fullPod("web"), "default/web");
  assert.equal(Report.link.fullPod("a/web"), "a/web");
});

test("records are found by number and by time", () => {
  assert.deepEqual(plain(run.seq), [1, 2, 3, 4, 6]);
  assert.equal(run.positionOf(4), 3);
  assert.equal(run.positionOf(5), 3); // one that was left out
  assert.equal(run.positionAt(2500), 2);
  assert.equal(run.record(4).why, "no image");
  assert.deepEqual(plain(run.record(4).more), { id: "x" });
});

test("causes are followed to the first", () => {
  assert.deepEqual(plain(run.causes(4).map((each) => each.seq)), [6, 2, 1]);
});

test("the state before and after a record is put together from changes", () => {
  const at = (seq) =>
    plain(Object.fromEntries(Object.entries(run.stateAt("default/web", seq)).map(([when, map]) => [when, [...map]])));
  assert.deepEqual(at(1), { before: [], after: [] });
  assert.deepEqual(at(2), { before: [], after: [["phase", "Pending"]] });
  assert.deepEqual(at(4), { before: [["phase", "Pending"]], after: [["phase", "Running"]] });
  assert.deepEqual(at(6), { before: [["phase", "Running"]], after: [] });
});

test("warnings and failures are known by pod", () => {
  assert.deepEqual(plain(run.warnings("default/db")), [3]);
  assert.deepEqual(plain(run.warnings("default/web")), []);
});

test("logs are those of a pod up to now", () => {
  assert.deepEqual(plain(run.logs("default/web", 4, 10).map((each) => each.text)), ["hello"]);
  assert.deepEqual(plain(run.logs("default/web", 1, 10)), []);
  assert.deepEqual(plain(run.logs("default/db", 4, 10)), []);
});

test("a search finds words in any text, or in the field that is named", () => {
  assert.deepEqual(plain(Report.search.find(run, "image")), [3, 4]);
  assert.deepEqual(plain(Report.search.find(run, "IMAGE pod:web")), [4]);
  assert.deepEqual(plain(Report.search.find(run, "part:runtime")), [2, 4]);
  assert.deepEqual(plain(Report.search.find(run, "")), []);
  assert.deepEqual(plain(Report.search.find(run, "pod:")), []);
});

test("filters limit the records; without one all are shown", () => {
  assert.equal(Report.search.filtered(run, { node: "", pod: "", part: "" }), null);
  assert.deepEqual(plain(Report.search.filtered(run, { node: "node-1", pod: "default/web", part: "api" })), [1]);
});

test("a table has the rows of its moment, in order, with ages", () => {
  const table = {
    rows: {
      "default/b": [
        [0, ["b", "\u00010\u0001"]],
        [5 * SECOND, null],
      ],
      "default/a": [[2 * SECOND, ["a", "3 (\u0001-1000000\u0001 ago)"]]],
    },
  };
  assert.deepEqual(plain(Report.tables.rowsAt(table, 0).rows), [["default/b", ["b", "0s"]]]);
  assert.deepEqual(plain(Report.tables.rowsAt(table, 3 * SECOND).rows), [
    ["default/a", ["a", "3 (4s ago)"]],
    ["default/b", ["b", "3s"]],
  ]);
  assert.deepEqual(plain(Report.tables.rowsAt(table, 3 * SECOND, 1)), {
    rows: [["default/a", ["a", "3 (4s ago)"]]],
    count: 2,
  });
  assert.deepEqual(plain(Report.tables.rowsAt(table, 9 * SECOND).rows.map(([key]) => key)), ["default/a"]);
});

test("a pod that is collapsed has one row, its phase", () => {
  const labels = (expanded, filter = {}) =>
    plain(Report.rows.make(run, filter, new Set(expanded)).map((row) => row.label));
  assert.deepEqual(labels([]), ["node-1", "components", "web", "db"]);
  assert.deepEqual(labels(["pod default/web"]), ["node-1", "components", "web", "hello", "db"]);
  assert.deepEqual(labels(["closed node-1"]), ["node-1"]);
  assert.deepEqual(labels([], { pod: "default/db" }), ["node-1", "db"]);
  assert.deepEqual(labels(["parts node-1"]), ["node-1", "components", "api", "runtime", "web", "db"]);
});

test("ages are those of kubectl", () => {
  const cases = JSON.parse(process.env.AGES ?? "[]");
  for (const [micros, text] of cases) assert.equal(Report.time.age(micros), text);
});
