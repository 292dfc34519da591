// Resource amounts of pods and nodes, by resource name.

import { amount, nanos, whole } from "./quantity.js";

const DEFAULTS = new Map([
  ["cpu", nanos("100m")],
  ["memory", nanos("200Mi")],
]);

/**
 * Amounts by resource name; 0 for a missing name. `cpu` is in milli-CPU, `memory` and `ephemeral-storage` in bytes,
 * other resources in units.
 */
export class Resources extends Map {
  get(name) {
    return super.get(name) ?? 0;
  }

  get cpu() {
    return this.get("cpu");
  }

  get memory() {
    return this.get("memory");
  }

  get ephemeralStorage() {
    return this.get("ephemeral-storage");
  }

  get pods() {
    return this.get("pods");
  }
}

/** `{"cpu": "500m"}` as numbers. */
export function fromQuantities(quantities) {
  const found = new Resources();
  for (const [name, value] of Object.entries(quantities ?? {})) found.set(name, amount(name, value));
  return found;
}

/** Effective requests of a pod: sum of its containers, or the peak of its init containers, plus overhead. */
export function podRequests(spec) {
  return rounded(requests(spec, new Map()));
}

/** CPU and memory for scoring, with a small default for containers without requests. */
export function podNonZeroRequests(spec) {
  const total = rounded(requests(spec, DEFAULTS));
  return new Resources([
    ["cpu", total.cpu],
    ["memory", total.memory],
  ]);
}

function requests(spec, defaults) {
  const level = new Map();
  for (const [name, value] of amounts(spec.resources)) {
    if (DEFAULTS.has(name) || name.startsWith("hugepages-")) level.set(name, value);
  }
  let applied = defaults;
  if (level.size > 0) {
    // No default for resources that the pod requests at pod level.
    const asked = plus(merged(total(spec, (container) => amounts(container.resources)), level), overhead(spec));
    applied = new Map([...defaults].filter(([name]) => !asked.has(name)));
  }
  const sum = total(spec, (container) => merged(applied, amounts(container.resources)));
  return plus(merged(sum, level), overhead(spec));
}

function total(spec, amountsOf) {
  let together = new Map();
  for (const container of spec.containers ?? []) together = plus(together, amountsOf(container));
  let sidecars = new Map();
  let peak = new Map();
  for (const container of spec.initContainers ?? []) {
    const own = amountsOf(container);
    let moment;
    if (container.restartPolicy === "Always") {
      // A sidecar, which runs beside all later containers.
      together = plus(together, own);
      moment = sidecars = plus(sidecars, own);
    } else {
      moment = plus(own, sidecars);
    }
    peak = combined(peak, moment, (left, right) => (left > right ? left : right));
  }
  return combined(together, peak, (left, right) => (left > right ? left : right));
}

function overhead(spec) {
  return inNanos(spec.overhead);
}

function amounts(resources) {
  return inNanos(resources?.requests);
}

function inNanos(quantities) {
  return new Map(Object.entries(quantities ?? {}).map(([name, value]) => [name, nanos(value)]));
}

function merged(left, right) {
  return new Map([...left, ...right]);
}

function plus(left, right) {
  return combined(left, right, (one, other) => one + other);
}

function combined(left, right, operation) {
  const result = new Map(left);
  for (const [name, value] of right) result.set(name, operation(left.get(name) ?? 0n, value));
  return result;
}

function rounded(given) {
  return new Resources([...given].map(([name, value]) => [name, whole(name, value)]));
}
