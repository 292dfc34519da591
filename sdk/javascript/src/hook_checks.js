// Checks of a plugin class: hooks that the scheduler would never call, or not as they are written.

import { ClusterEvent } from "./events.js";
import { METHODS, Plugin, WANTS } from "./plugin.js";

const ON_NODE = ["state", "pod", "node"];
const PARAMETERS = {
  preEnqueue: ["pod"],
  sortKey: ["pod", "queuedAt"],
  queueingHint: ["pod", "change"],
  preFilter: ["state", "pod"],
  addPod: ["state", "pod", "added", "node"],
  removePod: ["state", "pod", "removed", "node"],
  filter: ON_NODE,
  postFilter: ["state", "pod", "statuses"],
  preScore: ["state", "pod", "nodes"],
  score: ON_NODE,
  normalizeScores: ["state", "pod", "scores"],
  normalizeValues: ["state", "pod", "values"],
  reserve: ON_NODE,
  unreserve: ON_NODE,
  permit: ON_NODE,
  preBind: ON_NODE,
  bind: ON_NODE,
  postBind: ON_NODE,
  events: [],
  signature: ["pod"],
};
// Names of the same hooks in Go and in the scheduling framework.
const OTHER_NAMES = { normalizescore: "normalizeScores", less: "sortKey", queuesort: "sortKey", eventstoregister: "events", signpod: "signature" };
const NAMED = ["state", "pod", "node", "nodes"];

/** Throws a TypeError for a class that cannot work as a plugin. */
export function check(pluginClass) {
  const problems = [...found(pluginClass)];
  if (problems.length > 0) throw new TypeError(problems.join("; "));
}

/** Hooks with their parameters, for tests. */
export function parameters() {
  return PARAMETERS;
}

/** The list of events of a plugin, checked. */
export function checkedEvents(events) {
  const list = Array.isArray(events) ? events : null;
  if (list === null || list.some((event) => !(event instanceof ClusterEvent))) {
    throw new TypeError("events: expected an array of ClusterEvent");
  }
  return list;
}

function* found(pluginClass) {
  if (typeof pluginClass !== "function" || !(pluginClass.prototype instanceof Plugin)) {
    const what = pluginClass === undefined ? "nothing" : (pluginClass?.name ?? typeof pluginClass);
    yield `plugin: expected \`export default class … extends Plugin\`, found ${what}`;
    return;
  }
  const name = pluginClass.name || "the plugin";
  const unknown = [...(pluginClass.wants ?? [])].filter((want) => !Object.hasOwn(WANTS, want));
  if ("normalizeScores" in pluginClass.prototype && "normalizeValues" in pluginClass.prototype) {
    yield `${name} has normalizeScores and normalizeValues; remove one of them`;
  }
  if (unknown.length > 0) yield `wants: unknown ${unknown.join(", ")}; there are ${Object.keys(WANTS).join(", ")}`;
  let hooks = 0;
  let misspelt = 0;
  for (const method of methodNames(pluginClass)) {
    if (Object.hasOwn(PARAMETERS, method)) {
      hooks += 1;
      yield* wrong(pluginClass, name, method);
    } else {
      const hook = meant(method, descriptor(pluginClass, method).value);
      misspelt += hook ? 1 : 0;
      if (hook && !(hook in pluginClass.prototype)) yield `${name}.${method} is not a hook; did you mean ${hook}?`;
    }
  }
  if (hooks === 0 && misspelt === 0) yield `${name} implements no hook; give it a method such as filter or score`;
}

function* wrong(pluginClass, name, hook) {
  const method = descriptor(pluginClass, hook).value;
  if (typeof method !== "function") {
    yield `${name}.${hook} is not a method; hooks are methods`;
    return;
  }
  if (/^(Async|Generator)/.test(method.constructor.name)) {
    yield `${name}.${hook} is async or a generator; hooks are plain methods`;
    return;
  }
  const expected = PARAMETERS[hook];
  const given = parameterNames(method);
  // A parameter with the name of another one: JavaScript would call the hook without a complaint.
  const misplaced = given.some((item, place) => NAMED.includes(item) && item !== expected[place]);
  if (misplaced || method.length > expected.length) {
    yield `${name}.${hook} is called with other arguments: ${hook}(${expected.join(", ")})`;
  }
}

/** Names of all methods of a class and of its bases below Plugin. */
function methodNames(pluginClass) {
  const names = new Set();
  for (let each = pluginClass.prototype; each !== Plugin.prototype; each = Object.getPrototypeOf(each)) {
    for (const name of Object.getOwnPropertyNames(each)) names.add(name);
  }
  names.delete("constructor");
  return names;
}

function descriptor(pluginClass, name) {
  for (let each = pluginClass.prototype; ; each = Object.getPrototypeOf(each)) {
    const own = Object.getOwnPropertyDescriptor(each, name);
    if (own) return own;
  }
}

/** The hook that a method is meant to be. A name that is only similar counts with the parameters of that hook. */
function meant(method, code) {
  const plain = method.replaceAll("_", "").toLowerCase();
  const hooks = Object.keys(PARAMETERS);
  const same = hooks.find((hook) => hook.toLowerCase() === plain) ?? OTHER_NAMES[plain] ?? METHODS[plain];
  if (same !== undefined || typeof code !== "function") return same;
  const given = parameterNames(code).join();
  return hooks.find((hook) => given && given === PARAMETERS[hook].join() && isNear(plain, hook.toLowerCase()));
}

/** Whether two names differ by one letter, or by two letters in the other order: `filtre`, `scor`. Names are short. */
function isNear(name, hook) {
  if (Math.abs(name.length - hook.length) > 1 || Math.min(name.length, hook.length) < 4) return false;
  let start = 0;
  while (start < name.length && name[start] === hook[start]) start++;
  const [left, right] = [name.slice(start), hook.slice(start)];
  const isSwapped = left.length > 1 && left[0] === right[1] && left[1] === right[0] && left.slice(2) === right.slice(2);
  return isSwapped || left.slice(1) === right.slice(1) || left.slice(1) === right || left === right.slice(1);
}

/** Plain parameter names, as written: `_pod` is pod. Patterns and defaults have no name. */
function parameterNames(method) {
  const list = /^[^(]*\(([^()]*)\)/.exec(Function.prototype.toString.call(method))?.[1] ?? "";
  return list.split(",").map((item) => item.trim().replace(/^_+/, ""));
}
