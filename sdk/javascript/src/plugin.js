// Base class of plugins: one method per extension point.
//
// Methods that are not overridden are never called and cost nothing. A verdict on a pod is nothing or true (it passes),
// a text (the reason for its rejection), or a `Status`.

import { logger } from "./logs.js";
import { decode } from "./schema.js";
import { Scheduler } from "./scheduler.js";

/** A scheduling policy. One object serves many pods, several at a time: data of a single pod belongs in `state`. */
export class Plugin {
  /** Optional data to receive: "pods" (node.pods), "waitingPods" (this.waitingPods). */
  static wants = [];
  /** True if filter and score depend on the Node object only: results per node are then shared by all pods. */
  static ignoresPod = false;
  /**
   * True if preFilter, filter, preScore and score depend on the pod, the configuration and the node at hand with its pods,
   * and on nothing else: they are then called again for nodes that have changed since they were called for an equal pod.
   */
  static pure = false;
  /** Normalization of the scores by the scheduler, in place of `normalizeScores`. */
  static normalization = undefined;
  /** Schema of the configuration; without one, any JSON is accepted. */
  static config = undefined;

  constructor(config) {
    this._scheduler = new Scheduler();
    this.config = decode(new.target.config, config);
    /** Logger of the plugin, forwarded to the scheduler's log. `console` works as well. */
    this.log = logger;
  }

  // -------------------------------------------------------------------- services for plugins

  /** Time of the scheduler's clock; the simulated time in a simulation. */
  now() {
    return this._scheduler.now();
  }

  /** All nodes of the cluster. */
  get nodes() {
    return this._scheduler.nodes;
  }

  /** Pods that wait at Permit, with their `nodeName`. Requires `static wants = ["waitingPods"]`. */
  get waitingPods() {
    return this._scheduler.waitingPods();
  }

  /** Allows a waiting pod (or uid); false if it is not waiting. */
  allow(pod) {
    return this._scheduler.allow(uidOf(pod));
  }

  /** Rejects a waiting pod (or uid), which returns to the queue; false if it is not waiting. */
  reject(pod, reason = "") {
    return this._scheduler.reject(uidOf(pod), reason);
  }

  /** Records a Kubernetes event about a pod or node. */
  recordEvent(regarding, event) {
    this._scheduler.recordEvent(regarding, event);
  }

  /** Adds an annotation to the pod with its binding, in one request. In `reserve` and `preBind` only. */
  annotate(key, value) {
    this._scheduler.annotate(key, value);
  }
}

/** Hooks of the ABI: their methods, and the parameters of these. `signature` is part of prefilter. */
export const METHODS = Object.freeze({
  preenqueue: "preEnqueue",
  queuesort: "sortKey",
  queueinghint: "queueingHint",
  prefilter: "preFilter",
  addpod: "addPod",
  removepod: "removePod",
  filter: "filter",
  postfilter: "postFilter",
  prescore: "preScore",
  score: "score",
  normalizescore: "normalizeScores",
  reserve: "reserve",
  unreserve: "unreserve",
  permit: "permit",
  prebind: "preBind",
  bind: "bind",
  postbind: "postBind",
});
/** The other method of `normalizescore`. */
export const NORMALIZE_VALUES = "normalizeValues";
export const WANTS = Object.freeze({ pods: "pods", waitingPods: "waiting_pods" });

/** Whether a plugin class has a method for a hook. */
export function implementsHook(pluginClass, method) {
  return method in pluginClass.prototype;
}

function uidOf(pod) {
  return typeof pod === "string" ? pod : pod.uid;
}
