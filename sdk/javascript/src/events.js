// Cluster events: changes that may make a rejected pod schedulable.

export const RESOURCES = Object.freeze([
  "Pod",
  "Node",
  "PersistentVolume",
  "PersistentVolumeClaim",
  "PodSchedulingContext",
  "ResourceClaim",
  "StorageClass",
  "CSINode",
  "CSIDriver",
  "CSIStorageCapacity",
  "*",
]);

/** Kinds of changes to an object; combined with `|`. */
export const Action = Object.freeze({
  Add: 1 << 0,
  Delete: 1 << 1,
  UpdateNodeAllocatable: 1 << 2,
  UpdateNodeLabel: 1 << 3,
  UpdateNodeTaint: 1 << 4,
  UpdateNodeCondition: 1 << 5,
  UpdateNodeAnnotation: 1 << 6,
  UpdateNodeDeclaredFeature: 1 << 7,
  UpdatePodLabel: 1 << 8,
  UpdatePodScaleDown: 1 << 9,
  UpdatePodToleration: 1 << 10,
  UpdatePodSchedulingGatesEliminated: 1 << 11,
  UpdatePodGeneratedResourceClaim: 1 << 12,
  UpdateOther: 1 << 13,
  Update: (1 << 14) - 4,
  All: (1 << 14) - 1,
});

/** A subscription to changes: `new ClusterEvent("Node", Action.Add | Action.UpdateNodeLabel)`. */
export class ClusterEvent {
  constructor(resource, action = Action.All) {
    if (!RESOURCES.includes(resource)) {
      throw new RangeError(`unknown resource "${resource}"; there are ${RESOURCES.join(", ")}`);
    }
    if (!Number.isInteger(action) || action <= 0 || action > Action.All) {
      throw new RangeError(`action: expected values of Action, combined with |, got ${action}`);
    }
    this.resource = resource;
    this.action = action;
    Object.freeze(this);
  }
}

/** One change. `old` is null for a new object, `new` for a deleted one, both for kinds other than Pod and Node. */
export class Change {
  constructor(resource, action, old = null, current = null) {
    this.resource = resource;
    this.action = action;
    this.old = old;
    this.new = current;
    Object.freeze(this);
  }
}
