// Scheduler interface of a plugin: clock, nodes, waiting pods, and pending actions.
//
// Actions (events, annotations, allowed and rejected pods) are collected and sent when the hook returns.

import { Nodes, NotWantedError } from "./node_info.js";

const MOST_EVENTS = 1000;
const MOST_ANNOTATIONS = 64;
const TYPES = ["Normal", "Warning"];

/** Received data, and actions to send after the hook. */
export class Scheduler {
  nodes = new Nodes();
  /** Milliseconds since 1970; null for the clock of this machine. */
  milliseconds = null;
  /** Waiting pods by uid; null if the plugin has not asked for them. */
  waiting = new Map();
  allowed = [];
  rejected = [];
  events = [];
  /** Annotations of the binding; null outside of reserve and preBind. */
  annotations = null;

  now() {
    return new Date(this.milliseconds ?? Date.now());
  }

  waitingPods() {
    return [...this.#waiting().values()];
  }

  allow(uid) {
    const isWaiting = this.#waiting().has(uid);
    if (isWaiting) this.allowed.push(uid);
    return isWaiting;
  }

  reject(uid, reason) {
    const isWaiting = this.#waiting().has(uid);
    if (isWaiting) this.rejected.push([uid, String(reason)]);
    return isWaiting;
  }

  recordEvent(regarding, { reason, note, action = "Scheduling", type = "Normal", related = null }) {
    for (const [field, value] of Object.entries({ reason, note, action })) {
      if (typeof value !== "string") throw new TypeError(`recordEvent: ${field} must be a string`);
    }
    if (!TYPES.includes(type)) throw new RangeError(`recordEvent: type must be Normal or Warning, not ${type}`);
    if (this.events.length >= MOST_EVENTS) return;
    const about = related === null ? null : reference(related);
    this.events.push({ type, reason, note, action, regarding: reference(regarding), related: about });
  }

  annotate(key, value) {
    if (this.annotations === null) throw new Error("annotate is for reserve and preBind: annotations go with the binding");
    if (typeof key !== "string" || typeof value !== "string") throw new TypeError("annotate: key and value must be strings");
    if (!this.annotations.has(key) && this.annotations.size >= MOST_ANNOTATIONS) {
      throw new RangeError(`annotate: more than ${MOST_ANNOTATIONS} annotations in one hook`);
    }
    this.annotations.set(key, value);
  }

  /** Adds the pending actions to an answer, and forgets them. */
  takeInto(answer) {
    if (this.events.length > 0) {
      answer.events = this.events.map(wire);
      this.events = [];
    }
    if (this.allowed.length > 0 || this.rejected.length > 0) {
      answer.allow = this.allowed;
      answer.reject = this.rejected;
      this.allowed = [];
      this.rejected = [];
    }
  }

  #waiting() {
    if (this.waiting === null) throw new NotWantedError("waitingPods", "the waiting pods");
    return this.waiting;
  }
}

function reference(about) {
  const { namespace = "", resourceVersion = "" } = about.raw.metadata ?? {};
  return { kind: about.kind, apiVersion: "v1", name: about.name, namespace, uid: about.uid, resourceVersion };
}

/** An event with the field names of the ABI. */
function wire({ type, reason, note, action, regarding, related }) {
  const sent = { RegardingReference: wireReference(regarding) };
  if (related !== null) sent.RelatedReference = wireReference(related);
  return { ...sent, Eventtype: type, Reason: reason, Action: action, Note: note };
}

function wireReference({ kind, apiVersion, name, namespace, uid, resourceVersion }) {
  return {
    Kind: kind,
    APIVersion: apiVersion,
    Name: name,
    Namespace: namespace,
    UID: uid,
    ResourceVersion: resourceVersion,
  };
}
