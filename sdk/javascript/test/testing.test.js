import assert from "node:assert/strict";
import test from "node:test";

import { Nominate, Plugin, SKIP, Wait } from "../src/index.js";
import { FakeCluster, makeNode, makePod, run } from "../src/testing.js";

test("a run has node, scores and rejections", () => {
  class Prefers extends Plugin {
    filter(state, pod, node) {
      if (node.labels.disk !== "ssd") return "no fast disk";
    }
    score(state, pod, node) {
      return Number(node.name.at(-1));
    }
  }
  const nodes = [makeNode("n-1", { labels: { disk: "ssd" } }), makeNode("n-2"), makeNode("n-3", { labels: { disk: "ssd" } })];
  const outcome = run(Prefers, makePod(), nodes);
  assert.equal(outcome.node, "n-3");
  assert.deepEqual(outcome.scores, { "n-1": 1, "n-3": 3 });
  assert.deepEqual(outcome.rejected, { "n-2": "no fast disk" });
});

test("preFilter may skip or narrow, postFilter may nominate", () => {
  class Narrows extends Plugin {
    preFilter(state, pod) {
      return pod.name === "any" ? SKIP : ["n-2"];
    }
    filter() {
      return "never";
    }
    postFilter(state, pod, statuses) {
      return new Nominate([...statuses.keys()][0]);
    }
  }
  const nodes = () => [makeNode("n-1"), makeNode("n-2")];
  assert.equal(run(Narrows, makePod("any"), nodes()).node, "n-1");
  const outcome = run(Narrows, makePod(), nodes());
  assert.deepEqual(outcome.rejected, { "n-1": "node(s) didn't satisfy plugin(s) [Narrows] simultaneously", "n-2": "never" });
  assert.deepEqual([outcome.nominated, outcome.reason], ["n-1", "no node passed"]);
});

class Gang extends Plugin {
  static wants = ["waitingPods"];
  reserve(state, pod, node) {
    this.annotate("example.com/node", node.name);
  }
  permit() {
    if (this.waitingPods.length === 0) return new Wait(90);
    for (const other of this.waitingPods) this.allow(other);
  }
}

test("waiting pods are bound when they are allowed, with their annotations", () => {
  const cluster = new FakeCluster([makeNode("n")]);
  const plugin = cluster.start(Gang);
  assert.equal(cluster.schedule(plugin, makePod("a", { requests: { cpu: 1 } })).isWaiting, true);
  assert.deepEqual(cluster.waiting, ["a"]);
  cluster.schedule(plugin, makePod("b"));
  assert.deepEqual(cluster.bound, { b: "n", a: "n" });
  assert.deepEqual(cluster.annotations.a, { "example.com/node": "n" });
  assert.deepEqual([cluster.nodes.get("n").podCount, cluster.nodes.get("n").free("cpu")], [2, 3000]);
});

class Numbers extends Plugin {
  static wants = ["pods"];
  reserve(state, pod, node) {
    assert.ok(node.pods.some((other) => other.uid === pod.uid), "the pod is on its node");
    this.annotate("example.com/number", String(node.pods.filter((other) => other.annotations["example.com/number"]).length));
  }
}

test("the next pod sees the annotations of a binding", () => {
  const cluster = new FakeCluster([makeNode("n")]);
  const plugin = cluster.start(Numbers);
  for (const name of ["0", "1", "2"]) {
    cluster.schedule(plugin, makePod(name));
    assert.equal(cluster.annotations[name]["example.com/number"], name);
  }
});

test("waiting pods are given up after their time", () => {
  const cluster = new FakeCluster([makeNode("n")]);
  cluster.schedule(cluster.start(Gang), makePod("a"));
  cluster.advance(89);
  assert.deepEqual(cluster.waiting, ["a"]);
  cluster.advance(1);
  assert.deepEqual(cluster.unbound, { a: "rejected due to timeout after waiting 1m30s at plugin Gang" });
  assert.equal(cluster.nodes.get("n").podCount, 0);
});

test("the queue has the order of the sort key", () => {
  class Urgent extends Plugin {
    sortKey(pod, queuedAt) {
      return [-pod.priority, queuedAt];
    }
  }
  const cluster = new FakeCluster();
  const pods = [makePod("a"), makePod("b", { priority: 5 }), makePod("c"), makePod("d", { priority: 5 })];
  assert.deepEqual(cluster.queue(cluster.start(Urgent), pods).map((pod) => pod.name), ["b", "d", "a", "c"]);
});

test("data that is not wanted is not there", () => {
  class Forgets extends Plugin {
    filter(state, pod, node) {
      return String(node.pods.length);
    }
  }
  assert.throws(() => run(Forgets, makePod(), [makeNode()]), /put static wants = \["pods"\] into the class/);
});

test("a score out of range fails the test", () => {
  class High extends Plugin {
    score() {
      return 101;
    }
  }
  assert.throws(() => run(High, makePod(), [makeNode("n")]), /the score of n is 101/);
});

for (const [body, problem] of [
  [class A extends Plugin {}, /A implements no hook/],
  [class A extends Plugin { pre_filter() {} }, /A\.pre_filter is not a hook; did you mean preFilter\?/],
  [class A extends Plugin { normalizeScore() {} }, /did you mean normalizeScores\?/],
  [class A extends Plugin { filtre(_state, pod, node) {} }, /A\.filtre is not a hook; did you mean filter\?/],
  [class A extends Plugin { scor(state, pod, node) {} }, /did you mean score\?/],
  [class A extends Plugin { store(state, pod, node) {} }, /did you mean score\?/],
  [class A extends Plugin { filter(pod, node) {} }, /A\.filter is called with other arguments: filter\(state, pod, node\)/],
  [class A extends Plugin { filter(state, pod, node, more) {} }, /other arguments/],
  [class A extends Plugin { async filter() {} }, /A\.filter is async or a generator/],
  [class A extends Plugin { get filter() { return null; } }, /A\.filter is not a method/],
  [class A extends Plugin { static wants = ["podes"]; filter() {} }, /wants: unknown podes; there are pods, waitingPods/],
  [class A { filter() {} }, /expected `export default class … extends Plugin`, found A/],
]) {
  test(`a class that cannot work: ${problem.source}`, () => {
    assert.throws(() => new FakeCluster().start(body), problem);
  });
}

test("methods of the author with other parameters are no misspelt hooks", () => {
  class A extends Plugin {
    filter() {}
    find(name) {}
    store(value) {}
    event() {}
  }
  assert.ok(run(A, makePod("web"), [makeNode("a")]).node);
});

test("hooks with fewer or other names of parameters are fine", () => {
  class Fine extends Plugin {
    filter(_state, { name }, _node) {
      return name;
    }
    score() {
      return 1;
    }
  }
  assert.equal(run(Fine, makePod("p"), [makeNode("n")]).rejected.n, "p");
});

test("a declared normalization, or values without names, are applied", () => {
  class Counts extends Plugin {
    score(state, pod, node) {
      return Number(node.name.at(-1));
    }
  }
  const scores = (normalization) => {
    class Declared extends Counts {
      static normalization = normalization;
    }
    return Object.values(run(Declared, makePod(), [makeNode("n-1"), makeNode("n-2"), makeNode("n-3")]).scores);
  };
  assert.deepEqual(scores({ method: "none" }), [1, 2, 3]);
  assert.deepEqual(scores({ method: "proportional" }), [33, 66, 100]);
  assert.deepEqual(scores({ method: "proportional", reverse: true, maximum: 10 }), [7, 4, 0]);
  assert.deepEqual(scores({ method: "min-max", reverse: true }), [100, 50, 0]);
  class Values extends Counts {
    normalizeValues(state, pod, values) {
      return values.map((value) => 100 - value);
    }
  }
  assert.deepEqual(run(Values, makePod(), [makeNode("n-1")]).scores, { "n-1": 99 });
});
