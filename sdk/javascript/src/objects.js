// Pods and nodes: getters for common fields, `raw` for the whole object. HOT PATH.
//
// An object keeps its JSON text and parses it on first use; parsed values are kept in fields that begin with `_`.
// Maps of labels have no prototype, so that a label such as `constructor` is not confused with a member of Object.

import { fromQuantities, podNonZeroRequests, podRequests } from "./resources.js";

const NONE = Object.freeze(Object.create(null));

/** Base of pods and nodes. */
export class KubernetesObject {
  constructor(text) {
    this._text = text;
    this._raw = undefined;
  }

  /** The whole object in the JSON form of Kubernetes. */
  get raw() {
    return this._object;
  }

  get _object() {
    return (this._raw ??= JSON.parse(this._text));
  }

  get _metadata() {
    return this._object.metadata ?? NONE;
  }

  get name() {
    return this._metadata.name ?? "";
  }

  get uid() {
    return this._metadata.uid ?? "";
  }

  get labels() {
    return (this._labels ??= entries(this._metadata.labels));
  }

  get annotations() {
    return (this._annotations ??= entries(this._metadata.annotations));
  }

  /** Creation time, or null. */
  get createdAt() {
    const written = this._metadata.creationTimestamp;
    return written ? new Date(written) : null;
  }
}

/** A pod. */
export class Pod extends KubernetesObject {
  get kind() {
    return "Pod";
  }

  get namespace() {
    return this._metadata.namespace || "default";
  }

  get spec() {
    return this._spec;
  }

  get status() {
    return this._status;
  }

  get _spec() {
    return this._object.spec ?? NONE;
  }

  get _status() {
    return this._object.status ?? NONE;
  }

  /** Total requests: `pod.requests.cpu` in milli-CPU, `pod.requests.get("nvidia.com/gpu")` in units. */
  get requests() {
    return (this._requests ??= podRequests(this._spec));
  }

  /** Requested CPU and memory, with a small default for containers without requests. */
  get nonZeroRequests() {
    return (this._nonZero ??= podNonZeroRequests(this._spec));
  }

  get priority() {
    return this._spec.priority ?? 0;
  }

  get priorityClass() {
    return this._spec.priorityClassName ?? "";
  }

  get schedulerName() {
    return this._spec.schedulerName || "default-scheduler";
  }

  /** Node of the pod; empty for a pending pod. */
  get nodeName() {
    return this._spec.nodeName ?? "";
  }

  get nominatedNodeName() {
    return this._status.nominatedNodeName ?? "";
  }

  get nodeSelector() {
    return (this._nodeSelector ??= entries(this._spec.nodeSelector));
  }

  get tolerations() {
    return (this._tolerations ??= (this._spec.tolerations ?? []).map((item) => ({
      key: item.key ?? "",
      operator: item.operator || "Equal",
      value: item.value ?? "",
      effect: item.effect ?? "",
      seconds: item.tolerationSeconds ?? null,
    })));
  }

  /** Whether the pod tolerates a taint, or all of several taints. */
  tolerates(taints) {
    const wanted = Array.isArray(taints) ? taints : [taints];
    return wanted.every((taint) => this.tolerations.some((item) => tolerates(item, taint)));
  }

  get containers() {
    return (this._containers ??= (this._spec.containers ?? []).map(container));
  }

  get initContainers() {
    return (this._initContainers ??= (this._spec.initContainers ?? []).map(container));
  }

  /** Images of all containers, init containers first. */
  get images() {
    return [...this.initContainers, ...this.containers].map((item) => item.image);
  }

  get schedulingGates() {
    return (this._spec.schedulingGates ?? []).map((gate) => gate.name ?? "");
  }

  /** Controller of the pod, or null. */
  get owner() {
    const found = (this._metadata.ownerReferences ?? []).find((item) => item.controller);
    if (!found) return null;
    return { kind: found.kind ?? "", name: found.name ?? "", uid: found.uid ?? "", apiVersion: found.apiVersion ?? "" };
  }
}

// Fields of a pod by the properties that are made of them. Properties made of other properties have none of their own.
const FIELDS = {
  raw: "object",
  spec: "spec",
  status: "status",
  nominatedNodeName: "status",
  requests: "requests",
  nonZeroRequests: "requests",
  name: "metadata.name",
  namespace: "metadata.namespace",
  uid: "metadata.uid",
  labels: "metadata.labels",
  annotations: "metadata.annotations",
  createdAt: "metadata.creationTimestamp",
  owner: "metadata.ownerReferences",
  priority: "spec.priority",
  priorityClass: "spec.priorityClassName",
  schedulerName: "spec.schedulerName",
  nodeName: "spec.nodeName",
  nodeSelector: "spec.nodeSelector",
  tolerations: "spec.tolerations",
  containers: "spec.containers",
  initContainers: "spec.initContainers",
  schedulingGates: "spec.schedulingGates",
};

/** The pod of a pure plugin's cycle: notes the fields that are read. */
export class NotedPod extends Pod {
  reads = new Set();
}

for (const [name, field] of Object.entries(FIELDS)) {
  const holder = Object.hasOwn(Pod.prototype, name) ? Pod.prototype : KubernetesObject.prototype;
  const { get } = Object.getOwnPropertyDescriptor(holder, name);
  Object.defineProperty(NotedPod.prototype, name, {
    get() {
      this.reads.add(field);
      return get.call(this);
    },
  });
}

/** A node. Labels and images have JSON texts of their own: reading labels does not parse the rest. */
export class Node extends KubernetesObject {
  constructor(text, labels = "", images = "") {
    super(text);
    this._labelsText = labels;
    this._imagesText = images;
    this._labels = undefined;
    this._annotations = undefined;
    this._parts = undefined;
    this._images = undefined;
  }

  get kind() {
    return "Node";
  }

  get _object() {
    if (this._raw === undefined) {
      const parsed = JSON.parse(this._text);
      if (this._labelsText) (parsed.metadata ??= {}).labels = JSON.parse(this._labelsText);
      if (this._imagesText) (parsed.status ??= {}).images = JSON.parse(this._imagesText);
      this._raw = parsed;
    }
    return this._raw;
  }

  get labels() {
    if (this._labels === undefined) {
      this._labels = entries(this._labelsText ? JSON.parse(this._labelsText) : this._metadata.labels);
    }
    return this._labels;
  }

  get annotations() {
    return this._small.annotations;
  }

  get taints() {
    return this._small.taints;
  }

  /** Whether the node is cordoned. */
  get unschedulable() {
    return this._small.unschedulable;
  }

  /** Status by condition type, such as `{Ready: "True"}`. */
  get conditions() {
    return this._small.conditions;
  }

  /** Sizes in bytes of the images on the node, by all their names. */
  get images() {
    if (this._images === undefined) {
      const listed = this._imagesText ? JSON.parse(this._imagesText) : this._object.status?.images;
      this._images = new Map(
        (listed ?? []).flatMap((item) => (item.names ?? []).map((name) => [name, item.sizeBytes ?? 0])),
      );
    }
    return this._images;
  }

  get zone() {
    return this.labels["topology.kubernetes.io/zone"] ?? "";
  }

  get region() {
    return this.labels["topology.kubernetes.io/region"] ?? "";
  }

  /** All small fields, parsed at once and without `raw`: 5,000 parsed nodes would take too much memory. */
  get _small() {
    if (this._parts === undefined) {
      const { metadata, spec, status } = this._raw ?? JSON.parse(this._text);
      const conditions = Object.create(null);
      for (const item of status?.conditions ?? []) conditions[item.type ?? ""] = item.status ?? "";
      this._parts = {
        annotations: entries(metadata?.annotations),
        taints: (spec?.taints ?? []).map(({ key = "", value = "", effect = "" }) => ({ key, value, effect })),
        unschedulable: Boolean(spec?.unschedulable),
        conditions,
      };
    }
    return this._parts;
  }
}

function entries(given) {
  return given ? Object.assign(Object.create(null), given) : NONE;
}

function tolerates(toleration, taint) {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if (toleration.operator === "Exists") return true;
  return toleration.operator === "Equal" && toleration.value === (taint.value ?? "");
}

function container(item) {
  return {
    name: item.name ?? "",
    image: item.image ?? "",
    requests: fromQuantities(item.resources?.requests),
    limits: fromQuantities(item.resources?.limits),
    raw: item,
  };
}
