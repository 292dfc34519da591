import assert from "node:assert/strict";
import test from "node:test";

import type { Pod } from "@kubewasp/sdk";
import { FakeCluster, makeNode, makePod, run } from "@kubewasp/sdk/testing";

import SpotBudget, { workload } from "../plugin.ts";

const SPOT = { "karpenter.sh/capacity-type": "spot" };

function cluster(): FakeCluster {
  return new FakeCluster([makeNode("spot-1", { labels: SPOT }), makeNode("own-1")]);
}

/** A pod of a ReplicaSet. The fakes have no option for owners. */
function replica(name: string, annotations: Record<string, string> = {}): Pod {
  const pod = makePod(name, { annotations });
  pod.raw.metadata.ownerReferences = [{ kind: "ReplicaSet", name: "web", uid: "1", controller: true }];
  return pod;
}

test("every second replica goes to a spot node", () => {
  const fake = cluster();
  const plugin = fake.start(SpotBudget);
  const nodes = ["web-1", "web-2", "web-3", "web-4"].map((name) => fake.schedule(plugin, replica(name)).node);
  assert.deepEqual(nodes, ["own-1", "spot-1", "own-1", "spot-1"]);
});

test("a rejection names the workload, and a hint the remedy", () => {
  const outcome = run(SpotBudget, makePod("single"), cluster().nodes);
  assert.deepEqual(outcome.rejected, {
    "spot-1": "1 of 1 pods of Pod default/single would be on spot nodes, at most 50% may be",
  });
  assert.deepEqual(outcome.hints, { "spot-1": "a node that is not a spot node" });
});

test("a pod may have a share of its own", () => {
  const share = (value: string) => run(SpotBudget, replica("web-1", { "kubewasp.dev/max-spot-share": value }), cluster().nodes);
  assert.equal(share("1").node, "spot-1");
  assert.equal(share("0").node, "own-1");
  assert.match(share("half").reason, /max-spot-share: a share is a number from 0 to 1/);
  assert.match(share("").reason, /a share is a number/);
});

test("preemption trials change the counts", () => {
  const fake = cluster();
  const plugin = fake.start(SpotBudget);
  for (const name of ["web-1", "web-2"]) fake.schedule(plugin, replica(name));
  const state = new Map<string, any>() as any;
  const [pod, spot] = [replica("web-3"), fake.nodes.get("spot-1")!];
  plugin.preFilter(state, pod);
  assert.notEqual(plugin.filter(state, pod, spot), null);
  plugin.removePod(state, pod, spot.pods[0]!, spot);
  assert.equal(plugin.filter(state, pod, spot), null);
  plugin.addPod(state, pod, replica("other"), spot);
  assert.notEqual(plugin.filter(state, pod, spot), null);
});

test("pods without a controller are workloads of their own", () => {
  assert.equal(workload(makePod("a")), "Pod default/a");
  assert.equal(workload(replica("b")), "ReplicaSet default/web");
});

test("a share above 1 is refused", () => {
  assert.throws(() => run(SpotBudget, makePod(), [], { config: { maxShare: 2 } }), /config\.maxShare: a share is a number/);
});
