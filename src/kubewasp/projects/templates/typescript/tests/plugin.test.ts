import assert from "node:assert/strict";
import test from "node:test";

import { makeNode, makePod, run } from "@kubewasp/sdk/testing";

import PreferLabel from "../plugin.ts";

const nodes = () => ["nvme", "ssd", "hdd"].map((disk) => makeNode(`${disk}-1`, { labels: { disktype: disk } }));

test("the best disk is preferred", () => {
  const outcome = run(PreferLabel, makePod("web"), nodes());
  assert.equal(outcome.node, "nvme-1");
  assert.deepEqual(outcome.scores, { "nvme-1": 100, "ssd-1": 50, "hdd-1": 0 });
});

test("closed nodes take pods of kube-system only", () => {
  const config = { closed: ["nvme"] };
  const outcome = run(PreferLabel, makePod("web"), nodes(), { config });
  assert.equal(outcome.node, "ssd-1");
  assert.deepEqual(outcome.rejected, { "nvme-1": "nodes with disktype=nvme are closed" });
  const agent = makePod("agent", { namespace: "kube-system" });
  assert.equal(run(PreferLabel, agent, nodes(), { config }).node, "nvme-1");
});

test("a configuration without a label is refused", () => {
  assert.throws(() => run(PreferLabel, makePod(), nodes(), { config: { label: "" } }), /label must not be empty/);
});
