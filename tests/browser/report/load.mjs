// Loads scripts of the report as the page has them: one after the other, in one scope.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import vm from "node:vm";

const folder = fileURLToPath(new URL("../../../kubesim/trace/report/page/", import.meta.url));

export function load(...names) {
  const text = ["namespace.js", ...names].map((name) => readFileSync(folder + name, "utf8")).join("\n");
  const context = vm.createContext({ URLSearchParams });
  vm.runInContext(text, context);
  return context.Report;
}

/** A run of five records about two pods. */
export function smallRun(Report) {
  const strings = [
    "",
    "event",
    "log",
    "api",
    "runtime",
    "default/web",
    "default/db",
    "node-1",
    "Started",
    "hello",
    "no image",
    "phase",
    "Pending",
    "Running",
  ];
  const columns = {
    seq: [1, 1, 1, 1, 2],
    t: [0, 1000, 1000, 5000, 3000],
    kind: [1, 1, 2, 1, 1],
    part: [3, 3, 4, 3, 4],
    node: [7, 7, 7, 7, 7],
    pod: [0, 5, 5, 6, 5],
    container: [0, 0, 0, 0, 0],
    text: [8, 8, 9, 10, 8],
    why: [0, 0, 0, 0, 10],
    ref: [0, 0, 0, 0, 0],
    cause: [0, 1, 1, 0, 4],
    tone: [0, 0, 0, 3, 0],
  };
  const lanes = [
    {
      pod: 5,
      node: 7,
      lanes: [
        { kind: "phase", name: 0, bands: [[0, 5000, 12, "waiting", 1]] },
        { kind: "container", name: 9, bands: [] },
      ],
    },
    { pod: 6, node: 7, lanes: [{ kind: "phase", name: 0, bands: [] }] },
  ];
  const facts = {
    5: [
      [2, 11, 12],
      [4, 11, 13],
      [6, 11, 0],
    ],
  };
  return new Report.Run({
    strings,
    records: { columns, more: { 6: { id: "x" } }, leftOut: 0 },
    lanes,
    facts,
    nodes: ["node-1"],
    end: 10000,
    tables: [],
  });
}
