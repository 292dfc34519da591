// Guest side of the component ABI: settings and requests in, descriptions and answers out. HOT PATH.
//
// sdk/wit/README.md specifies both. An error in a hook does not end the instance: the answer has its stack.

import { RESOURCES, Change } from "./events.js";
import { check, checkedEvents } from "./hook_checks.js";
import { Collector, writeToStderr } from "./logs.js";
import { Mirror } from "./mirror.js";
import { declared } from "./normalization.js";
import { Node, NotedPod, Pod } from "./objects.js";
import { implementsHook, METHODS, NORMALIZE_VALUES, WANTS } from "./plugin.js";
import { ConfigError, parse } from "./schema.js";
import { hashed } from "./signature.js";
import { encoded } from "./sort_key.js";
import { CycleState } from "./state.js";
import { asStatus, Code, Nominate, shown, Status, Wait } from "./status.js";
import { setSourceLines, told } from "./traces.js";
import { VERSION } from "./version.js";

const PROTOCOL = 1;
const LOWEST = -(2 ** 31);
const HIGHEST = 2 ** 31 - 1;
const MILLION = 1e6;
const ON_NODE = ["reserve", "unreserve", "prebind", "bind", "postbind"];
// Hooks whose answers may be shared with other pods.
const SHARED = ["prefilter", "filter", "prescore", "score"];
const ANNOTATING = ["reserve", "prebind"];

/** The exports of a component: `start` and `call` of the plugin class. */
export function exportsOf(pluginClass, sourceLines) {
  if (sourceLines) setSourceLines(sourceLines);
  check(pluginClass);
  const guest = new Guest(pluginClass);
  return { start: (settings) => guest.start(settings), call: (request) => guest.call(request) };
}

/** Pod of a scheduling cycle with its state. Preemption trials have states of their own, by number. */
class Cycle {
  constructor(pod) {
    this.pod = pod;
    this.reset();
  }

  reset() {
    this.state = new CycleState();
    this.states = new Map([[0, this.state]]);
  }
}

/** An error at one of many nodes. The results for earlier nodes are still valid. */
class HookError {
  constructor(answer, error, node) {
    this.answer = { ...answer, error: told(error, node) };
  }
}

/** One plugin in one instance. */
export class Guest {
  #class;
  #collector = new Collector();
  #cycles = new Map();
  #reported = new Set();
  #plugin;
  #mirror;
  #hooks;
  #isWatched = false;

  constructor(pluginClass) {
    this.#class = pluginClass;
    this.#hooks = {
      sync: () => ({}),
      preenqueue: (_, texts) => status(this.#plugin.preEnqueue(new Pod(texts.p)), "preEnqueue"),
      queuesort: (header, texts) => this.#sortKey(header, texts),
      queueinghint: (header, texts) => this.#queueingHint(header, texts),
      prefilter: (header) => this.#preFilter(header),
      addpod: (header, texts) => this.#trial(header, texts, "addPod"),
      removepod: (header, texts) => this.#trial(header, texts, "removePod"),
      filter: (header) => this.#filter(header),
      postfilter: (header) => this.#postFilter(header),
      prescore: (header) => this.#preScore(header),
      score: (header) => this.#score(header),
      normalizescore: (header) => this.#normalize(header),
      permit: (header) => this.#permit(header),
      clonestate: (header) => this.#cloneState(header),
      selectstate: (header) => this.#selectState(header),
      dropstate: (header) => this.#dropState(header),
    };
    for (const hook of ON_NODE) this.#hooks[hook] = (header) => this.#onNode(header, METHODS[hook]);
  }

  // -------------------------------------------------------------------- start

  /** Starts the plugin. The answer is its description, or an error that fails the load. */
  start(settings) {
    let description;
    try {
      description = this.#start(JSON.parse(settings));
    } catch (error) {
      description = { error: loadError(error), refused: error instanceof ConfigError };
    }
    const answer = {};
    this.#collector.takeInto(answer);
    const logs = answer.logs ?? [];
    for (const line of (answer.output ?? "").split("\n")) if (line) logs.push([0, line]);
    return JSON.stringify({ ...description, protocol: PROTOCOL, logs });
  }

  #start(settings) {
    this.#collector.install(settings.severity ?? 0, settings.output ?? 0);
    this.#isWatched = settings.watch === true;
    const plugin = new this.#class(parse(settings.config ?? ""));
    const wants = [...this.#class.wants];
    this.#plugin = plugin;
    this.#mirror = new Mirror(plugin._scheduler, {
      wantsPods: wants.includes("pods"),
      wantsWaitingPods: wants.includes("waitingPods"),
    });
    return {
      sdk: `@kubewasp/sdk ${VERSION}`,
      plugin: this.#class.name,
      hooks: implementedHooks(this.#class),
      events: events(plugin, this.#class),
      wants: wants.map((want) => WANTS[want]).sort(),
      signature: this.#class.ignoresPod ? 1 : 0,
      signs: implementsHook(this.#class, "signature"),
      ...(this.#class.pure ? { pure: true } : {}),
      ...(this.#class.normalization ? { normalization: declared(this.#class.normalization) } : {}),
    };
  }

  // -------------------------------------------------------------------- calls

  /** Calls one hook. */
  call(request) {
    const lines = request.split("\n");
    const header = JSON.parse(lines[0]);
    const scheduler = this.#plugin._scheduler;
    scheduler.milliseconds = header.now / MILLION;
    scheduler.annotations = ANNOTATING.includes(header.hook) ? new Map() : null;
    for (const number of header.forget ?? []) this.#cycles.delete(number);
    let answer;
    try {
      const texts = this.#mirror.update(lines);
      if (header.waiting) this.#mirror.keepWaiting(header.waiting);
      if (texts.p !== undefined && header.cycle) {
        const pod = this.#class.pure ? new NotedPod(texts.p) : new Pod(texts.p);
        this.#cycles.set(header.cycle, new Cycle(pod));
      }
      answer = this.#hooks[header.hook](header, texts);
      if (this.#class.pure && SHARED.includes(header.hook)) this.#addReads(header, answer);
      if (scheduler.annotations?.size) answer.annotations = Object.fromEntries(scheduler.annotations);
    } catch (error) {
      answer = error instanceof HookError ? error.answer : { error: told(error) };
    }
    scheduler.takeInto(answer);
    this.#collector.takeInto(answer);
    return json(answer);
  }

  /** Reports fields of the pod that no hook with a shared answer has read before. */
  #addReads(header, answer) {
    const found = [...this.#cycle(header).pod.reads].filter((field) => !this.#reported.has(field));
    for (const field of found) this.#reported.add(field);
    if (found.length > 0) answer.read = found;
  }

  #cycle(header) {
    return this.#cycles.get(header.cycle);
  }

  // -------------------------------------------------------------------- queue

  #sortKey(header, texts) {
    const queuedAt = new Date(header.queued_at / MILLION);
    return { key: encoded(this.#plugin.sortKey(new Pod(texts.p), queuedAt)) };
  }

  #queueingHint(header, texts) {
    const [resource, action] = header.event;
    const kind = { Pod, Node }[RESOURCES[resource]];
    const object = (text) => (kind && text !== undefined ? new kind(text) : null);
    const change = new Change(RESOURCES[resource], action, object(texts.u), object(texts.v));
    return { queue: Boolean(this.#plugin.queueingHint(new Pod(texts.p), change)) };
  }

  // -------------------------------------------------------------------- scheduling cycle

  #preFilter(header) {
    const cycle = this.#cycle(header);
    cycle.reset();
    const answer = {};
    if (implementsHook(this.#class, "signature")) answer.signature = hashed(this.#plugin.signature(cycle.pod));
    if (implementsHook(this.#class, "preFilter")) {
      let verdict = this.#plugin.preFilter(cycle.state, cycle.pod);
      const names = candidates(verdict);
      if (names !== null) {
        answer.nodes = names;
        // An empty list of names would mean all nodes.
        verdict = names.length > 0 ? null : Status.unresolvable("preFilter left no node");
      }
      Object.assign(answer, status(verdict, "preFilter"));
    }
    return answer;
  }

  #filter(header) {
    const { state, pod } = this.#cycle(header);
    const plugin = this.#plugin;
    const nodes = this.#listed(header);
    const isWatched = this.#isWatched;
    const results = [];
    try {
      for (let place = 0; place < nodes.length; place++) {
        if (isWatched) publish("filter", nodes[place]);
        results.push(plugin.filter(state, pod, nodes[place]));
      }
      return verdicts(results);
    } catch (error) {
      // Reported with the results so far.
      const name = results.length < nodes.length ? nodes[results.length].name : "";
      throw new HookError(name ? verdicts(results) : {}, error, name);
    }
  }

  #score(header) {
    const { state, pod } = this.#cycle(header);
    const plugin = this.#plugin;
    const isWatched = this.#isWatched;
    const nodes = this.#listed(header);
    const scores = [];
    try {
      for (let place = 0; place < nodes.length; place++) {
        if (isWatched) publish("score", nodes[place]);
        const score = plugin.score(state, pod, nodes[place]);
        // The common case without a call.
        if ((score | 0) !== score) checkScore(score, "score");
        scores.push(score);
      }
    } catch (error) {
      throw new HookError({ scores: [] }, error, nodes[scores.length].name);
    }
    return { scores };
  }

  #listed(header) {
    const nodes = this.#mirror.nodes(header.list, header.rows);
    return header.part ? nodes.slice(header.part[0], header.part[1]) : nodes;
  }

  #postFilter(header) {
    const { state, pod } = this.#cycle(header);
    const [rows, codes] = header.statuses;
    const statuses = new Map(rows.map((row, place) => [this.#mirror.node(row).name, codes[place]]));
    const answer = this.#plugin.postFilter(state, pod, statuses);
    if (answer instanceof Nominate) return { nominated: answer.node };
    return status(answer ?? "no help", "postFilter");
  }

  #preScore(header) {
    const { state, pod } = this.#cycle(header);
    return status(this.#plugin.preScore(state, pod, this.#listed(header)), "preScore");
  }

  #normalize(header) {
    const { state, pod } = this.#cycle(header);
    if (implementsHook(this.#class, NORMALIZE_VALUES)) {
      const count = header.scores.length;
      const values = this.#plugin[NORMALIZE_VALUES](state, pod, header.scores) ?? header.scores;
      if (!Array.isArray(values)) throw new TypeError(`${NORMALIZE_VALUES} returned ${shown(values)}; expected an array`);
      if (values.length !== count) {
        throw new RangeError(`${NORMALIZE_VALUES} gave ${values.length} scores for ${count} nodes`);
      }
      for (const score of values) checkScore(score, NORMALIZE_VALUES);
      return { scores: values };
    }
    const names = this.#listed(header).map((node) => node.name);
    const given = new Map(names.map((name, place) => [name, header.scores[place]]));
    const changed = this.#plugin.normalizeScores(state, pod, given) ?? given;
    if (!(changed instanceof Map)) throw new TypeError(`normalizeScores returned ${shown(changed)}; expected a Map`);
    if (changed.size !== names.length) {
      throw new RangeError(`normalizeScores gave ${changed.size} scores for ${names.length} nodes`);
    }
    const scores = names.map((name) => changed.get(name));
    for (const score of scores) checkScore(score, "normalizeScores");
    return { scores };
  }

  #trial(header, texts, method) {
    const { state, pod } = this.#cycle(header);
    return status(this.#plugin[method](state, pod, new Pod(texts.t), this.#mirror.node(header.row)), method);
  }

  #cloneState(header) {
    const cycle = this.#cycle(header);
    cycle.states.set(header.state, cycle.state.clone());
    return {};
  }

  #selectState(header) {
    const cycle = this.#cycle(header);
    cycle.state = cycle.states.get(header.state);
    return {};
  }

  #dropState(header) {
    this.#cycle(header).states.delete(header.state);
    return {};
  }

  // -------------------------------------------------------------------- binding

  #onNode(header, method) {
    const { state, pod } = this.#cycle(header);
    return status(this.#plugin[method](state, pod, this.#mirror.node(header.row)), method);
  }

  #permit(header) {
    const { state, pod } = this.#cycle(header);
    const verdict = this.#plugin.permit(state, pod, this.#mirror.node(header.row));
    if (!(verdict instanceof Wait)) return status(verdict, "permit");
    const timeout = Math.min(Math.max(Math.trunc(verdict.seconds * 1000), 0), 2 ** 32 - 1);
    return { status: [Code.Wait, verdict.reason], timeout };
  }
}

/** Hooks that the plugin implements, by their names in the ABI. */
export function implementedHooks(pluginClass) {
  const hooks = Object.keys(METHODS).filter((hook) => implementsHook(pluginClass, METHODS[hook]));
  if (implementsHook(pluginClass, NORMALIZE_VALUES)) hooks.push("normalizescore");
  if (implementsHook(pluginClass, "events")) hooks.push("enqueue");
  if (implementsHook(pluginClass, "signature") && !hooks.includes("prefilter")) hooks.push("prefilter");
  if (hooks.includes("addpod") || hooks.includes("removepod")) hooks.push("clonestate", "selectstate", "dropstate");
  return hooks;
}

/** Names of the candidate nodes that preFilter has returned; null for any other verdict. */
export function candidates(verdict) {
  if (!Array.isArray(verdict) && !(verdict instanceof Set)) return null;
  return [...verdict].map((item) => (typeof item === "string" ? item : item.name));
}

/** Throws for a score that is not a 32-bit integer. */
export function checkScore(score, hook) {
  if (!Number.isInteger(score)) throw new TypeError(`${hook} returned ${shown(score)}; expected a whole number`);
  if (score < LOWEST || score > HIGHEST) throw new RangeError(`${hook} returned a score outside of 32 bits`);
}

function events(plugin, pluginClass) {
  if (!implementsHook(pluginClass, "events")) return null;
  return checkedEvents(plugin.events()).map((event) => [RESOURCES.indexOf(event.resource), event.action]);
}

function loadError(error) {
  if (error instanceof ConfigError) return error.message;
  const { cause, trace } = told(error);
  return trace.startsWith(cause) ? trace : `${cause}\n${trace}`.trimEnd();
}

function status(verdict, hook) {
  return verdict === undefined || verdict === null || verdict === true ? {} : { status: sent(asStatus(verdict, hook)) };
}

/** Code and reason, and the hint if there is one. */
function sent({ code, reason, hint }) {
  return hint ? [code, reason, hint] : [code, reason];
}

/** Filter results: the node count and, unless all passed, a status index per node and the list of statuses. */
function verdicts(results) {
  const known = new Map();
  const statuses = [[0, ""]];
  const numbers = [];
  for (let place = 0; place < results.length; place++) {
    const verdict = results[place];
    if (verdict === undefined || verdict === null || verdict === true) {
      numbers.push(0);
      continue;
    }
    const given = asStatus(verdict, "filter");
    const key = `${given.code} ${given.reason}\0${given.hint}`;
    let number = known.get(key);
    if (number === undefined) {
      number = statuses.push(sent(given)) - 1;
      known.set(key, number);
    }
    numbers.push(number);
  }
  return statuses.length === 1 ? { count: numbers.length } : { count: numbers.length, verdicts: numbers, statuses };
}

/** JSON of an answer. A signature has 64 bits, more than a number of JavaScript. */
function json({ signature, ...answer }) {
  const text = JSON.stringify(answer);
  return signature ? `{"signature":${signature}${text === "{}" ? "" : ","}${text.slice(1)}` : text;
}

/** Position for the scheduler, after a time limit has ended an earlier instance. The engine has no finer one. */
function publish(hook, node) {
  writeToStderr(JSON.stringify({ function: hook, node: node.name }));
}
