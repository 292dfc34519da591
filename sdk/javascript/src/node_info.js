// NodeInfo: a node with its pods and resource totals. HOT PATH.

import { Node } from "./objects.js";
import { Resources } from "./resources.js";

const NO_NUMBERS = "[0,0,0,0,{},{}]";

/** A node with its pods and resource totals. One object for the lifetime of the node, updated in place. */
export class NodeInfo extends Node {
  constructor(name, sendsPods = true) {
    super("{}");
    this._name = name;
    this._numbersText = NO_NUMBERS;
    this._numbers = undefined;
    this._allocatable = undefined;
    this._requested = undefined;
    this._nonZero = undefined;
    this._pods = new Map();
    this._sendsPods = sendsPods;
  }

  // -------------------------------------------------------------------- for plugins

  get name() {
    return this._name;
  }

  /** Allocatable resources: `node.allocatable.cpu`, `node.allocatable.get("nvidia.com/gpu")`. */
  get allocatable() {
    return (this._allocatable ??= resources(this._totals[4], this._totals[3]));
  }

  /** Sum of the requests of all pods on the node. */
  get requested() {
    return (this._requested ??= resources(this._totals[5], this._totals[2]));
  }

  /** Requested CPU and memory, with a small default for containers without requests. */
  get nonZeroRequested() {
    return (this._nonZero ??= new Resources([
      ["cpu", this._totals[0]],
      ["memory", this._totals[1]],
    ]));
  }

  get podCount() {
    return this._totals[2];
  }

  /** Allocatable minus requested amount of a resource. */
  free(resource) {
    return this.allocatable.get(resource) - this.requested.get(resource);
  }

  /** Whether all these amounts are free. */
  fits(requests) {
    for (const [name, wanted] of requests) {
      if (wanted && wanted > this.free(name)) return false;
    }
    return true;
  }

  /** Pods on the node. Requires `static wants = ["pods"]`. */
  get pods() {
    if (!this._sendsPods) throw new NotWantedError("pods", "the pods on a node");
    return [...this._pods.values()];
  }

  // -------------------------------------------------------------------- updates from the scheduler

  _replaceObject(text, labels, images) {
    this._text = text;
    this._labelsText = labels;
    this._imagesText = images;
    this._raw = this._labels = this._annotations = this._parts = this._images = undefined;
  }

  _replaceNumbers(text) {
    this._numbersText = text;
    this._numbers = this._allocatable = this._requested = this._nonZero = undefined;
  }

  get _totals() {
    return (this._numbers ??= JSON.parse(this._numbersText));
  }
}

/** Use of data that the plugin has not requested in `wants`. */
export class NotWantedError extends Error {
  constructor(want, what) {
    super(`${what} are sent only to plugins that ask for them: put static wants = ["${want}"] into the class`);
    this.name = "NotWantedError";
  }
}

/** All nodes of the cluster; iterable, with lookup by name. */
export class Nodes {
  #byName = new Map();

  [Symbol.iterator]() {
    return this.#byName.values();
  }

  get size() {
    return this.#byName.size;
  }

  has(name) {
    return this.#byName.has(name);
  }

  get(name) {
    return this.#byName.get(name);
  }

  _put(node) {
    this.#byName.set(node.name, node);
  }

  _remove(name) {
    this.#byName.delete(name);
  }
}

function resources(amounts, pods) {
  const found = new Resources(Object.entries(amounts));
  return found.set("pods", pods);
}
