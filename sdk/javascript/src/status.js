// Statuses of hooks, and their short forms.

/** Status codes of the Kubernetes scheduling framework. */
export const Code = Object.freeze({
  Success: 0,
  Error: 1,
  Unschedulable: 2,
  UnschedulableAndUnresolvable: 3,
  Wait: 4,
  Skip: 5,
});

/** A status code with its reason. `hint` is what the pod or node would need; `kubewasp explain` shows it. */
export class Status {
  constructor(code = Code.Success, reason = "", hint = "") {
    this.code = code;
    this.reason = String(reason);
    this.hint = String(hint);
    Object.freeze(this);
  }

  /** Rejection that preemption may resolve. */
  static unschedulable(reason, hint = "") {
    return new Status(Code.Unschedulable, reason, hint);
  }

  /** Rejection that preemption cannot resolve. */
  static unresolvable(reason, hint = "") {
    return new Status(Code.UnschedulableAndUnresolvable, reason, hint);
  }

  /** Error in the plugin. */
  static error(reason) {
    return new Status(Code.Error, reason);
  }

  get isSuccess() {
    return this.code === Code.Success;
  }
}

export const SUCCESS = new Status();
/** Result of preFilter or preScore: no filter or score for this pod. Result of bind: left to the next bind plugin. */
export const SKIP = new Status(Code.Skip);

/** Result of permit: the pod waits for `allow`, up to a timeout in seconds. */
export class Wait {
  constructor(seconds, reason = "") {
    if (typeof seconds !== "number" || Number.isNaN(seconds)) {
      throw new TypeError(`Wait: expected a number of seconds, got ${shown(seconds)}`);
    }
    this.seconds = seconds;
    this.reason = String(reason);
    Object.freeze(this);
  }
}

/** Result of postFilter: node nominated for the pod. An empty name clears the nomination. */
export class Nominate {
  constructor(node) {
    this.node = typeof node === "string" ? node : node.name;
    Object.freeze(this);
  }
}

/** The status of a verdict: nothing or true passes, a text is the reason of a rejection. */
export function asStatus(verdict, hook) {
  if (verdict === undefined || verdict === null || verdict === true) return SUCCESS;
  if (verdict instanceof Status) return verdict;
  if (typeof verdict === "string") return Status.unschedulable(verdict);
  if (verdict === false) return Status.unschedulable(`rejected by ${hook}`);
  if (typeof verdict.then === "function") {
    throw new TypeError(`${hook} returned a promise; hooks are plain methods, without async`);
  }
  throw new TypeError(`${hook} returned ${shown(verdict)}; expected nothing, true, a reason (string) or a Status`);
}

/** A value for an error message, with its type. */
export function shown(value) {
  let text;
  try {
    text = typeof value === "bigint" ? `${value}n` : (JSON.stringify(value) ?? String(value));
  } catch {
    text = String(value);
  }
  const kind = value === null ? "null" : typeof value === "object" ? (value.constructor?.name ?? "object") : typeof value;
  return `${text.length <= 60 ? text : `${text.slice(0, 60)}…`} (${kind})`;
}
