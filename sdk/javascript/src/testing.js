// Fakes for unit tests of plugins, without WebAssembly and without a scheduler.
//
//     const nodes = [makeNode("a", {labels: {disk: "ssd"}}), makeNode("b")];
//     assert.equal(run(MyPlugin, makePod("web"), nodes).node, "a");

import { candidates, checkScore } from "./guest.js";
import { check, checkedEvents } from "./hook_checks.js";
import { NodeInfo, Nodes } from "./node_info.js";
import { normalized } from "./normalization.js";
import { Pod } from "./objects.js";
import { implementsHook } from "./plugin.js";
import { fromQuantities, Resources } from "./resources.js";
import { Scheduler } from "./scheduler.js";
import { encoded } from "./sort_key.js";
import { CycleState } from "./state.js";
import { asStatus, Code, Nominate, Status, SUCCESS, Wait } from "./status.js";

const ALLOCATABLE = { cpu: "4", memory: "16Gi", pods: "110" };
export const NOON = new Date("2030-01-01T12:00:00Z");
let made = 0;

/** A pod with one container. `spec` has further fields of the pod spec, or replaces some. */
export function makePod(
  name = "pod",
  { namespace = "default", uid = "", labels, annotations, requests, image = "app:1", priority = 0, node = "", createdAt, spec } = {},
) {
  const metadata = { name, namespace, uid: uid || `${name}-${++made}`, labels: labels ?? {}, annotations: annotations ?? {} };
  if (createdAt) metadata.creationTimestamp = createdAt.toISOString().replace(/\.\d+Z$/, "Z");
  const container = { name: "main", image, resources: { requests: requests ?? {} } };
  const whole = { containers: [container], priority, ...spec };
  if (node) whole.nodeName = node;
  return new Pod(JSON.stringify({ metadata, spec: whole }));
}

/** A node with its pods. Taints may have the form `key=value:NoSchedule`. */
export function makeNode(
  name = "node",
  { labels, annotations, allocatable, taints = [], unschedulable = false, images, conditions, pods = [] } = {},
) {
  const node = new NodeInfo(name);
  const listed = Object.entries(images ?? {}).map(([image, size]) => ({ names: [image], sizeBytes: size }));
  const quantities = Object.entries({ ...ALLOCATABLE, ...allocatable }).map(([key, value]) => [key, String(value)]);
  const states = Object.entries(conditions ?? { Ready: "True" }).map(([type, status]) => ({ type, status }));
  const manifest = {
    metadata: { name, uid: `${name}-${++made}`, annotations: annotations ?? {} },
    spec: { taints: taints.map(taint), unschedulable },
    status: { allocatable: Object.fromEntries(quantities), conditions: states },
  };
  node._replaceObject(JSON.stringify(manifest), JSON.stringify(labels ?? {}), JSON.stringify(listed));
  for (const pod of pods) node._pods.set(pod.uid, pod);
  count(node);
  return node;
}

/** Schedules one pod on these nodes with this plugin alone. */
export function run(plugin, pod, nodes, { config, now = NOON } = {}) {
  const cluster = new FakeCluster(nodes, { now });
  return cluster.schedule(cluster.start(plugin, config), pod);
}

/** Result of a pod: its node, or the rejections by node. */
class Outcome {
  constructor(status, { node = "", rejected = {}, scores = {}, nominated = "", isWaiting = false, hints = {} } = {}) {
    Object.assign(this, { status, node, rejected, scores, nominated, isWaiting, hints, reason: status.reason });
    Object.freeze(this);
  }
}

/**
 * Nodes with their pods, waiting pods, and a clock.
 *
 * Results are in `bound` (placements), `unbound` (reasons of pods that failed after Reserve), `annotations` (of bound
 * pods), `waiting` (pods at Permit) and `events` (recorded events). Reasons are those of the scheduler; the plugin is
 * named after its class.
 */
export class FakeCluster {
  #waiting = new Map();

  constructor(nodes = [], { now = NOON } = {}) {
    this.nodes = new Nodes();
    for (const node of nodes) this.nodes._put(node);
    this.time = new Date(now);
    this.bound = {};
    this.unbound = {};
    this.annotations = {};
    this.events = [];
  }

  /** Names of the pods that wait at Permit. */
  get waiting() {
    return [...this.#waiting.values()].map((item) => item.pod.name);
  }

  /**
   * A plugin connected to this cluster. A class is instantiated with the configuration. A TypeError names hooks that
   * the scheduler would never call: misspelt ones, or with other parameters.
   */
  start(plugin, config) {
    check(typeof plugin === "function" ? plugin : plugin.constructor);
    const started = typeof plugin === "function" ? new plugin(config) : plugin;
    if (has(started, "events")) checkedEvents(started.events());
    started._scheduler = Object.assign(new Scheduler(), { nodes: this.nodes });
    for (const node of this.nodes) node._sendsPods = started.constructor.wants.includes("pods");
    this.#tell(started);
    return started;
  }

  /** Advances the clock. Waiting pods past their timeout are rejected. */
  advance(seconds) {
    this.time = new Date(this.time.getTime() + seconds * 1000);
    for (const [uid, item] of [...this.#waiting]) {
      if (item.until <= this.time.getTime()) {
        const plugin = item.plugin.constructor.name;
        this.#reject(uid, `rejected due to timeout after waiting ${duration(item.seconds)} at plugin ${plugin}`);
      }
    }
  }

  /** Pods in the order of `sortKey`, queued one after the other. */
  queue(plugin, pods) {
    const at = (place) => new Date(this.time.getTime() + place);
    const keyed = [...pods].map((pod, place) => [encoded(plugin.sortKey(pod, at(place))), pod]);
    return keyed.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)).map(([, pod]) => pod);
  }

  /** A whole scheduling cycle of a pod, with this plugin alone. */
  schedule(plugin, pod) {
    this.#tell(plugin);
    const outcome = this.#schedule(plugin, pod);
    this.#act(plugin);
    return outcome;
  }

  // -------------------------------------------------------------------- the cycle

  #schedule(plugin, pod) {
    const state = new CycleState();
    if (has(plugin, "preEnqueue")) {
      const status = asStatus(plugin.preEnqueue(pod), "preEnqueue");
      if (!status.isSuccess) return new Outcome(status);
    }
    let names = null;
    let skipsFilter = false;
    if (has(plugin, "preFilter")) {
      const answer = plugin.preFilter(state, pod);
      names = candidates(answer);
      if (names === null) {
        const status = asStatus(answer, "preFilter");
        skipsFilter = status.code === Code.Skip;
        if (!status.isSuccess && !skipsFilter) {
          return new Outcome(status, { rejected: Object.fromEntries([...this.nodes].map((node) => [node.name, status.reason])) });
        }
      }
    }
    const [feasible, statuses] = this.#filter(plugin, state, pod, names, has(plugin, "filter") && !skipsFilter);
    const rejected = Object.fromEntries([...statuses].map(([name, status]) => [name, status.reason]));
    const hinting = [...statuses].filter(([, status]) => status.hint);
    const hints = Object.fromEntries(hinting.map(([name, status]) => [name, status.hint]));
    if (feasible.length === 0) {
      const codes = new Map([...statuses].map(([name, status]) => [name, status.code]));
      const help = has(plugin, "postFilter") ? plugin.postFilter(state, pod, codes) : null;
      const nominated = help instanceof Nominate ? help.node : "";
      return new Outcome(Status.unschedulable("no node passed"), { rejected, nominated, hints });
    }
    const scores = this.#score(plugin, state, pod, feasible);
    const best = feasible.reduce((left, right) => ((scores[right.name] ?? 0) > (scores[left.name] ?? 0) ? right : left));
    const [status, isWaiting] = this.#bind({ plugin, state, pod, node: best, annotations: new Map() });
    return new Outcome(status, { node: status.isSuccess || isWaiting ? best.name : "", rejected, scores, isWaiting, hints });
  }

  #filter(plugin, state, pod, names, asks) {
    const feasible = [];
    const statuses = new Map();
    for (const node of this.nodes) {
      let status = SUCCESS;
      if (names !== null && !names.includes(node.name)) {
        status = Status.unresolvable(`node(s) didn't satisfy plugin(s) [${plugin.constructor.name}] simultaneously`);
      } else if (asks) {
        status = asStatus(plugin.filter(state, pod, node), "filter");
      }
      if (status.isSuccess) feasible.push(node);
      else statuses.set(node.name, status);
    }
    return [feasible, statuses];
  }

  #score(plugin, state, pod, nodes) {
    if (has(plugin, "preScore")) {
      const status = asStatus(plugin.preScore(state, pod, nodes), "preScore");
      if (status.code === Code.Skip) return {};
      if (!status.isSuccess) throw new Error(`preScore: ${status.reason}`);
    }
    if (!has(plugin, "score")) return {};
    let scores = new Map(nodes.map((node) => [node.name, plugin.score(state, pod, node)]));
    for (const score of scores.values()) checkScore(score, "score");
    if (has(plugin, "normalizeScores")) scores = plugin.normalizeScores(state, pod, scores) ?? scores;
    const { normalization } = plugin.constructor;
    if (has(plugin, "normalizeValues") || normalization) {
      const given = [...scores.values()];
      const values = normalization ? normalized(normalization, given) : (plugin.normalizeValues(state, pod, given) ?? given);
      scores = new Map([...scores.keys()].map((name, place) => [name, values[place]]));
    }
    for (const [name, score] of scores) {
      if (!Number.isInteger(score) || score < 0 || score > 100) {
        throw new RangeError(`the score of ${name} is ${score}; expected a whole number from 0 to 100`);
      }
    }
    return Object.fromEntries(scores);
  }

  #bind(item) {
    const { plugin, state, pod, node } = item;
    put(item); // as in the scheduler: Reserve sees the pod on its node
    if (has(plugin, "reserve")) {
      const status = asStatus(annotating(item, () => plugin.reserve(state, pod, node)), "reserve");
      if (!status.isSuccess) return [this.#giveUp(item, status), false];
      put(item);
    }
    if (has(plugin, "permit")) {
      const answer = plugin.permit(state, pod, node);
      if (answer instanceof Wait) {
        const until = this.time.getTime() + answer.seconds * 1000;
        this.#waiting.set(pod.uid, { ...item, seconds: answer.seconds, until });
        return [new Status(Code.Wait, answer.reason), true];
      }
      const status = asStatus(answer, "permit");
      if (!status.isSuccess) return [this.#giveUp(item, status), false];
    }
    return [this.#finish(item), false];
  }

  #finish(item) {
    const { plugin, state, pod, node } = item;
    for (const hook of ["preBind", "bind"]) {
      if (!has(plugin, hook)) continue;
      const call = () => plugin[hook](state, pod, node);
      const status = asStatus(hook === "preBind" ? annotating(item, call) : call(), hook);
      if (!status.isSuccess && status.code !== Code.Skip) return this.#giveUp(item, status);
    }
    put(item);
    this.bound[pod.name] = node.name;
    if (item.annotations.size > 0) this.annotations[pod.name] = Object.fromEntries(item.annotations);
    if (has(plugin, "postBind")) plugin.postBind(state, pod, node);
    return SUCCESS;
  }

  #giveUp({ plugin, state, pod, node }, status) {
    node._pods.delete(pod.uid);
    count(node);
    if (has(plugin, "unreserve")) plugin.unreserve(state, pod, node);
    this.unbound[pod.name] = status.reason;
    return status;
  }

  // -------------------------------------------------------------------- between hooks

  #tell(plugin) {
    const scheduler = plugin._scheduler;
    scheduler.milliseconds = this.time.getTime();
    const waiting = new Map([...this.#waiting].map(([uid, item]) => [uid, placed(item.pod, item.node)]));
    scheduler.waiting = plugin.constructor.wants.includes("waitingPods") ? waiting : null;
  }

  #act(plugin) {
    const scheduler = plugin._scheduler;
    const { events, allowed, rejected } = scheduler;
    Object.assign(scheduler, { events: [], allowed: [], rejected: [] });
    this.events.push(...events);
    for (const uid of allowed) {
      const item = this.#waiting.get(uid);
      this.#waiting.delete(uid);
      if (item) this.#finish(item);
    }
    for (const [uid, reason] of rejected) this.#reject(uid, reason);
  }

  #reject(uid, reason) {
    const item = this.#waiting.get(uid);
    this.#waiting.delete(uid);
    if (!item) return;
    this.#tell(item.plugin);
    this.#giveUp(item, Status.unschedulable(reason));
    this.#act(item.plugin);
  }
}

function has(plugin, method) {
  return implementsHook(plugin.constructor, method);
}

/** Calls a hook that may annotate the binding. */
function annotating({ plugin, annotations }, call) {
  plugin._scheduler.annotations = new Map();
  try {
    const verdict = call();
    for (const [key, value] of plugin._scheduler.annotations) annotations.set(key, value);
    return verdict;
  } finally {
    plugin._scheduler.annotations = null;
  }
}

/** Puts the pod on its node, with its annotations: other pods' hooks see them. */
function put({ pod, node, annotations }) {
  node._pods.set(pod.uid, annotations.size > 0 ? annotated(pod, annotations) : pod);
  count(node);
}

function annotated(pod, annotations) {
  const metadata = pod.raw.metadata;
  const own = { ...metadata.annotations, ...Object.fromEntries(annotations) };
  return new Pod(JSON.stringify({ ...pod.raw, metadata: { ...metadata, annotations: own } }));
}

/** Resource totals of a node, from its object and pods. */
function count(node) {
  const allocatable = fromQuantities(JSON.parse(node._text).status.allocatable);
  const requested = new Resources();
  const nonZero = new Resources();
  for (const pod of node._pods.values()) {
    for (const [total, asked] of [[requested, pod.requests], [nonZero, pod.nonZeroRequests]]) {
      for (const [name, amount] of asked) total.set(name, total.get(name) + amount);
    }
  }
  const most = allocatable.pods;
  allocatable.delete("pods");
  const sums = [Object.fromEntries(allocatable), Object.fromEntries(requested)];
  node._replaceNumbers(JSON.stringify([nonZero.cpu, nonZero.memory, node._pods.size, most, ...sums]));
}

/** A timeout of `Wait` in the notation of Go: `1m30s`, `500ms`. */
function duration(seconds) {
  const milliseconds = Math.trunc(seconds * 1000);
  if (milliseconds > 0 && milliseconds < 1000) return `${milliseconds}ms`;
  const minutes = Math.floor(milliseconds / 60_000) % 60;
  const hours = Math.floor(milliseconds / 3_600_000);
  const shown = hours ? `${hours}h${minutes}m` : minutes ? `${minutes}m` : "";
  return `${shown}${(milliseconds % 60_000) / 1000}s`;
}

function placed(pod, node) {
  return new Pod(JSON.stringify({ ...pod.raw, spec: { ...pod.spec, nodeName: node.name } }));
}

function taint(given) {
  if (typeof given !== "string") return given;
  const [, key, value = "", effect] = /^([^=]*?)(?:=(.*))?:([^:]*)$/.exec(given) ?? [];
  if (key === undefined) throw new RangeError(`not a taint: ${given}; expected key=value:NoSchedule`);
  return { key, value, effect };
}
