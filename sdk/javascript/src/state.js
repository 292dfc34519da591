// Cycle state: data of a plugin about one pod, from preFilter to postBind.

/**
 * A map per pod. Preemption trials work on copies: a value is copied with its `clone` method if it has one, else with
 * `structuredClone`.
 */
export class CycleState extends Map {
  clone() {
    const copy = new CycleState();
    for (const [key, value] of this) copy.set(key, copied(value));
    return copy;
  }
}

function copied(value) {
  return typeof value?.clone === "function" ? value.clone() : structuredClone(value);
}
