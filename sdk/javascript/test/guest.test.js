import assert from "node:assert/strict";
import test from "node:test";

import { Action, ClusterEvent, ConfigError, Nominate, Plugin, schema, SKIP, Status, Wait } from "../src/index.js";
import { node, POD, started } from "./building.js";

class OnlyFast extends Plugin {
  filter(state, pod, node) {
    return node.labels.disk === "ssd" ? null : "no fast disk";
  }
}

test("a guest describes its plugin", () => {
  class Described extends OnlyFast {
    static wants = ["waitingPods", "pods"];
    static ignoresPod = true;
    events() {
      return [new ClusterEvent("Node", Action.Add | Action.UpdateNodeLabel)];
    }
    addPod() {}
  }
  const { description } = started(Described);
  assert.deepEqual(description.hooks, ["addpod", "filter", "enqueue", "clonestate", "selectstate", "dropstate"]);
  assert.deepEqual(description.events, [[1, 9]]);
  assert.deepEqual(description.wants, ["pods", "waiting_pods"]);
  assert.deepEqual([description.signature, description.protocol, description.plugin], [1, 1, "Described"]);
});

test("a guest that cannot start gives the reason", () => {
  class Refuses extends OnlyFast {
    static config = schema.object({ zone: schema.string() });
  }
  class Throws extends OnlyFast {
    constructor(config) {
      super(config);
      throw new RangeError("no");
    }
  }
  class Rejects extends OnlyFast {
    constructor() {
      super();
      throw new ConfigError("config.x: no");
    }
  }
  assert.deepEqual(started(Refuses).description.error, "config.zone: missing");
  assert.equal(started(Refuses).description.refused, true);
  assert.match(started(OnlyFast, { config: "{" }).description.error, /^config: not valid JSON/);
  assert.match(started(Throws).description.error, /^RangeError: no\n.*guest\.test\.js:\d+/s);
  assert.equal(started(Throws).description.refused, false);
  assert.equal(started(Rejects).description.refused, true);
});

test("nodes are kept between requests, and only changes are sent", () => {
  const { call } = started(OnlyFast);
  const first = call({ hook: "filter", list: 0, rows: [0, 1] }, POD, ...node(0, "a"), ...node(1, "b", { disk: "ssd" }));
  assert.deepEqual(first, { count: 2, verdicts: [1, 0], statuses: [[0, ""], [2, "no fast disk"]] });
  assert.deepEqual(call({ hook: "filter", list: 0 }, ...node(0, "a", { disk: "ssd" })), { count: 2 });
  assert.deepEqual(call({ hook: "filter", list: 0, part: [1, 2] }), { count: 1 });
  assert.deepEqual(call({ hook: "filter", list: 0 }, ...node(1, "c")).verdicts, [0, 1]);
  assert.deepEqual(call({ hook: "filter", list: 1, rows: [0] }, "x 1"), { count: 1 });
});

test("an error in filter names its node and keeps the results so far", () => {
  class Fails extends Plugin {
    filter(state, pod, node) {
      if (node.name === "b") throw new TypeError("bad node");
    }
  }
  const answer = started(Fails).call({ hook: "filter", list: 0, rows: [0, 1] }, POD, ...node(0, "a"), ...node(1, "b"));
  assert.equal(answer.count, 1);
  assert.equal(answer.error.kind, "TypeError");
  assert.equal(answer.error.cause, "node b: TypeError: bad node");
  assert.match(answer.error.trace, /at Fails\.filter \(guest\.test\.js:\d+\)/);
  assert.doesNotMatch(answer.error.trace, /guest\.js/);
});

test("scores are whole numbers of 32 bits", () => {
  class Rates extends Plugin {
    score(state, pod, node) {
      return { half: 0.5, large: 2 ** 31, missing: undefined }[node.name] ?? (node.name === "missing" ? undefined : 7);
    }
  }
  const { call } = started(Rates);
  assert.deepEqual(call({ hook: "score", list: 0, rows: [0] }, POD, ...node(0, "a")), { scores: [7] });
  for (const [name, cause] of [["half", /0\.5 \(number\); expected a whole number/], ["large", /32 bits/], ["missing", /undefined/]]) {
    assert.match(call({ hook: "score", list: 0, rows: [1] }, ...node(1, name)).error.cause, cause);
  }
});

test("preFilter has signatures of 64 bits, candidates and skips", () => {
  class Narrows extends Plugin {
    signature(pod) {
      return { name: pod.name, parts: [1, true, null] };
    }
    preFilter(state, pod) {
      return { skip: SKIP, none: [], some: ["a"], text: "no" }[pod.name];
    }
  }
  const { send, call } = started(Narrows);
  const asked = (name) => call({ hook: "prefilter" }, `p {"metadata":{"name":"${name}"}}`);
  assert.match(send({ hook: "prefilter" }, POD), /^\{"signature":\d{10,20}\}$/);
  assert.deepEqual(asked("skip").status, [5, ""]);
  assert.deepEqual(asked("some").nodes, ["a"]);
  assert.deepEqual(asked("none").status, [3, "preFilter left no node"]);
  assert.deepEqual(asked("text").status, [2, "no"]);
  assert.equal(send({ hook: "prefilter" }, POD), send({ hook: "prefilter" }, POD));
});

test("states of preemption trials are copies", () => {
  class Trials extends Plugin {
    preFilter(state) {
      state.set("names", []);
    }
    addPod(state, pod, added) {
      state.get("names").push(added.name);
    }
    filter(state) {
      return state.get("names").join() || null;
    }
  }
  const { call } = started(Trials);
  call({ hook: "prefilter" }, POD, ...node(0, "a"));
  call({ hook: "clonestate", state: 1 });
  call({ hook: "selectstate", state: 1 });
  call({ hook: "addpod", row: 0 }, 't {"metadata":{"name":"t"}}');
  assert.deepEqual(call({ hook: "filter", list: 0, rows: [0] }).statuses[1], [2, "t"]);
  call({ hook: "selectstate", state: 0 });
  call({ hook: "dropstate", state: 1 });
  assert.deepEqual(call({ hook: "filter", list: 0 }), { count: 1 });
});

test("permit waits, postFilter nominates, normalizeScores replaces", () => {
  class Binds extends Plugin {
    permit() {
      return new Wait(1.5, "more");
    }
    postFilter(state, pod, statuses) {
      return statuses.get("a") === 3 ? new Nominate("a") : null;
    }
    normalizeScores(state, pod, scores) {
      for (const [name, score] of scores) scores.set(name, score * 2);
    }
    unreserve() {}
  }
  const { call } = started(Binds);
  assert.deepEqual(call({ hook: "permit", row: 0 }, POD, ...node(0, "a")), { status: [4, "more"], timeout: 1500 });
  assert.deepEqual(call({ hook: "postfilter", statuses: [[0], [3]] }), { nominated: "a" });
  assert.deepEqual(call({ hook: "postfilter", statuses: [[0], [2]] }), { status: [2, "no help"] });
  assert.deepEqual(call({ hook: "normalizescore", list: 0, rows: [0], scores: [4] }), { scores: [8] });
  assert.deepEqual(call({ hook: "unreserve", row: 0 }), {});
});

test("annotations go with reserve and preBind, and with no other hook", () => {
  class Annotates extends Plugin {
    reserve(state, pod, node) {
      this.annotate("example.com/gpu", node.name);
    }
    permit() {
      this.annotate("example.com/gpu", "1");
    }
  }
  const { call } = started(Annotates);
  assert.deepEqual(call({ hook: "reserve", row: 0 }, POD, ...node(0, "a")), { annotations: { "example.com/gpu": "a" } });
  assert.match(call({ hook: "permit", row: 0 }).error.cause, /annotate is for reserve and preBind/);
});

test("waiting pods are known, allowed and rejected", () => {
  class Gang extends Plugin {
    static wants = ["waitingPods"];
    permit() {
      for (const pod of this.waitingPods) this[pod.name === "x" ? "allow" : "reject"](pod, "late");
      return String(this.allow("unknown"));
    }
  }
  const { call } = started(Gang);
  const waiting = ['w "a \\" b" {"metadata":{"name":"x","uid":"a \\" b"}}', 'w "c" {"metadata":{"name":"y","uid":"c"}}'];
  const answer = call({ hook: "permit", row: 0, waiting: ['a " b', "c"] }, ...waiting, POD, ...node(0, "a"));
  assert.deepEqual(answer, { status: [2, "false"], allow: ['a " b'], reject: [["c", "late"]] });
  assert.deepEqual(call({ hook: "permit", row: 0, waiting: [] }), { status: [2, "false"] });
});

test("queue hooks have pods, times and changes", () => {
  class Queue extends Plugin {
    sortKey(pod, queuedAt) {
      return [-pod.priority, queuedAt];
    }
    queueingHint(pod, change) {
      return change.resource === "Node" && change.new.labels.disk === "ssd" && change.old === null;
    }
    preEnqueue(pod) {
      return pod.labels.hold ? Status.unresolvable("held", "no label hold") : true;
    }
  }
  const { call } = started(Queue);
  assert.match(call({ hook: "queuesort", cycle: 0, queued_at: 5e6 }, POD).key, /^10[0-9a-f]+18[0-9a-f]+$/);
  const hint = (labels) => call({ hook: "queueinghint", cycle: 0, event: [1, 1] }, POD, `v {"metadata":{"labels":${labels}}}`);
  assert.deepEqual([hint('{"disk":"ssd"}').queue, hint("{}").queue], [true, false]);
  const held = call({ hook: "preenqueue", cycle: 0 }, 'p {"metadata":{"labels":{"hold":"1"}}}');
  assert.deepEqual(held.status, [3, "held", "no label hold"]);
});

test("logs, output and events are in the answer, and the clock is the scheduler's", () => {
  class Talks extends Plugin {
    postBind(state, pod, node) {
      this.log.info("bound", { pod, node: node.name, time: this.now().toISOString() });
      this.recordEvent(pod, { reason: "Bound", note: "done", related: node });
    }
  }
  const { call } = started(Talks);
  const answer = call({ hook: "postbind", row: 0, now: 1e18 }, POD, ...node(0, "a"));
  assert.deepEqual(answer.logs, [[0, 'bound pod="default/p" node="a" time="2001-09-09T01:46:40.000Z"']]);
  const [event] = answer.events;
  assert.deepEqual([event.Eventtype, event.Reason, event.Note, event.Action], ["Normal", "Bound", "done", "Scheduling"]);
  assert.deepEqual([event.RegardingReference.Kind, event.RegardingReference.UID, event.RelatedReference.Kind], ["Pod", "u-1", "Node"]);
});

test("finished cycles are forgotten", () => {
  const { call } = started(OnlyFast);
  call({ hook: "filter", list: 0, rows: [0] }, POD, ...node(0, "a"));
  assert.match(call({ hook: "filter", list: 0, forget: [1] }).error.kind, /TypeError/);
});

test("a promise is not a verdict", () => {
  class Late extends Plugin {
    permit() {
      return Promise.resolve(null);
    }
  }
  const answer = started(Late).call({ hook: "permit", row: 0 }, POD, ...node(0, "a"));
  assert.match(answer.error.cause, /permit returned a promise; hooks are plain methods/);
});

test("a pure plugin reports what it reads of the pod, once", () => {
  class Pure extends Plugin {
    static pure = true;
    static normalization = { method: "min-max", reverse: true };
    filter(state, pod) {
      return pod.labels.app === "web" && pod.priority === 0 ? null : "no";
    }
    reserve(state, pod) {
      return pod.name ? null : "no";
    }
    score() {
      return 1;
    }
  }
  const { description, call } = started(Pure);
  assert.deepEqual([description.pure, description.normalization], [true, [2, 1, 100]]);
  assert.deepEqual(call({ hook: "filter", list: 0, rows: [0] }, POD, ...node(0, "a")).read, ["metadata.labels"]);
  assert.equal(call({ hook: "filter", list: 0 }).read, undefined);
});
