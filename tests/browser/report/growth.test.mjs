// A page that follows its run: what is added piece by piece is what the finished report has, and the end is noticed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load, smallRun } from "./load.mjs";

const Report = load("time.js", "run.js", "growth.js", "live.js");
const plain = (value) => JSON.parse(JSON.stringify(value)); // of another scope

/** A run as a reader sees it: with names and not with numbers of texts. */
function seen(run) {
  const lane = ({ kind, name, bands }) => [kind, name, bands.map(([b, l, text, ...rest]) => [b, l, run.strings[text], ...rest])];
  return plain({
    end: run.end,
    records: [...Array(run.count).keys()].map((at) => run.record(at)),
    lanes: run.lanes.map(({ pod, node, lanes }) => [pod, node, lanes.map(lane)]),
    facts: [...run.facts].map(([pod, all]) => [pod, all.map(([seq, ...texts]) => [seq, ...texts.map((n) => run.strings[n])])]),
    tables: run.data.tables.map(({ plural, header, rows }) => [plural, header, Object.entries(rows)]),
    names: [run.nodes, run.pods, run.parts],
  });
}

const sorted = (found) => ({ ...found, facts: found.facts.sort() });

test("what real runs add, piece by piece, is what their finished reports have", () => {
  const files = JSON.parse(process.env.GROWTH);
  assert.ok(files.length);
  for (const file of files) {
    const { nothing, pieces, whole } = JSON.parse(readFileSync(file, "utf8"));
    assert.ok(pieces.length > 3);
    const run = new Report.Run(nothing);
    for (const piece of pieces) Report.growth.add(run, piece);
    assert.deepEqual(sorted(seen(run)), sorted(seen(new Report.Run(whole))));
  }
});

test("an open band goes on while nothing happens, and one that vanishes in its instant is gone", () => {
  const run = smallRun(Report);
  const added = { end: 20000, from: 10000, strings: [], facts: {}, tables: [] };
  const records = { columns: Object.fromEntries(Object.keys(run.columns).map((name) => [name, []])), more: {} };
  const lanes = (bands, open) => [{ pod: 5, node: 7, lanes: [{ kind: "probe", name: 8, bands, open }] }];
  const probe = () => run.lanes.find((each) => each.pod === "default/web").lanes.find((lane) => lane.kind === "probe");
  Report.growth.add(run, { ...added, records, lanes: lanes([[10000, 10000, 9, "good", 7]], true) });
  Report.growth.add(run, { ...added, records, from: 20000, end: 30000, lanes: [] });
  assert.deepEqual(plain(probe().bands), [[10000, 20000, 9, "good", 7]]);
  Report.growth.add(run, { ...added, records, end: 30000, lanes: lanes([], false) });
  assert.equal(probe(), undefined);
});

const answers = (list) => async (url) => {
  asked.push(url);
  const next = list.shift();
  if (!next) throw new Error("closed");
  return next;
};
const asked = [];
const at = { url: "/data", period: 1, file: "run.html" };

async function followed(list) {
  const [taken, said] = [[], []];
  asked.length = 0;
  await Report.live.follow(at, (added) => taken.push(added.after), (...words) => said.push(words), answers(list), async () => {});
  return { taken, said, asked: [...asked] };
}

test("the page asks for what comes after what it has, until the run has ended", async () => {
  const { taken, said, asked } = await followed([{ after: "1.2" }, { after: "3.4", ended: true }]);
  assert.deepEqual([taken, asked], [["1.2", "3.4"], ["/data", "/data?after=1.2"]]);
  assert.deepEqual(said.at(-1), ["ended", "The run has ended. The finished report is in run.html."]);
});

test("a server that has closed is noticed, one that stumbles is asked again", async () => {
  const { taken, said, asked } = await followed([{ after: "1" }, null, null, { after: "2" }, null, null, null]);
  assert.deepEqual(taken, ["1", "2"]);
  assert.equal(asked.length, 7);
  assert.equal(said.at(-1)[0], "lost");
  assert.match(said.at(-1)[1], /is in run\.html/);
  assert.doesNotMatch((await followed([])).said.at(-1)[1], /run\.html/);
});
