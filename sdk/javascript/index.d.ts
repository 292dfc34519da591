// Types of the SDK. Hooks are optional methods: those that a plugin does not have are never called.

/** Status codes of the Kubernetes scheduling framework. */
export declare const Code: {
  readonly Success: 0;
  readonly Error: 1;
  readonly Unschedulable: 2;
  readonly UnschedulableAndUnresolvable: 3;
  readonly Wait: 4;
  readonly Skip: 5;
};
export type Code = (typeof Code)[keyof typeof Code];

/** A status code with its reason. `hint` is what the pod or node would need; `kubewasp explain` shows it. */
export declare class Status {
  constructor(code?: Code, reason?: string, hint?: string);
  readonly code: Code;
  readonly reason: string;
  readonly hint: string;
  readonly isSuccess: boolean;
  /** Rejection that preemption may resolve. */
  static unschedulable(reason: string, hint?: string): Status;
  /** Rejection that preemption cannot resolve. */
  static unresolvable(reason: string, hint?: string): Status;
  /** Error in the plugin. */
  static error(reason: string): Status;
}

export declare const SUCCESS: Status;
/** Result of preFilter or preScore: no filter or score for this pod. Result of bind: left to the next bind plugin. */
export declare const SKIP: Status;

/** Nothing or true: the pod passes. A text: the reason for its rejection. */
export type Verdict = Status | string | boolean | null | undefined | void;

/** Result of permit: the pod waits for `allow`, up to a timeout in seconds. */
export declare class Wait {
  constructor(seconds: number, reason?: string);
  readonly seconds: number;
  readonly reason: string;
}

/** Result of postFilter: node nominated for the pod. An empty name clears the nomination. */
export declare class Nominate {
  constructor(node: string | NodeInfo);
  readonly node: string;
}

/** Kinds of changes to an object; combined with `|`. */
export declare const Action: {
  readonly Add: number;
  readonly Delete: number;
  readonly UpdateNodeAllocatable: number;
  readonly UpdateNodeLabel: number;
  readonly UpdateNodeTaint: number;
  readonly UpdateNodeCondition: number;
  readonly UpdateNodeAnnotation: number;
  readonly UpdateNodeDeclaredFeature: number;
  readonly UpdatePodLabel: number;
  readonly UpdatePodScaleDown: number;
  readonly UpdatePodToleration: number;
  readonly UpdatePodSchedulingGatesEliminated: number;
  readonly UpdatePodGeneratedResourceClaim: number;
  readonly UpdateOther: number;
  readonly Update: number;
  readonly All: number;
};

export type EventResource =
  | "Pod"
  | "Node"
  | "PersistentVolume"
  | "PersistentVolumeClaim"
  | "PodSchedulingContext"
  | "ResourceClaim"
  | "StorageClass"
  | "CSINode"
  | "CSIDriver"
  | "CSIStorageCapacity"
  | "*";

/** A subscription to changes: `new ClusterEvent("Node", Action.Add | Action.UpdateNodeLabel)`. */
export declare class ClusterEvent {
  constructor(resource: EventResource, action?: number);
  readonly resource: EventResource;
  readonly action: number;
}

/** One change. `old` is null for a new object, `new` for a deleted one, both for kinds other than Pod and Node. */
export declare class Change {
  constructor(resource: EventResource, action: number, old?: Pod | Node | null, current?: Pod | Node | null);
  readonly resource: EventResource;
  readonly action: number;
  readonly old: Pod | Node | null;
  readonly new: Pod | Node | null;
}

/** A map per pod, from preFilter to postBind. Values are copied with their `clone` method, else `structuredClone`. */
export declare class CycleState extends Map<string, any> {
  clone(): CycleState;
}

/** Amounts by resource name; 0 for a missing name. `cpu` is in milli-CPU, memory in bytes, others in units. */
export declare class Resources extends Map<string, number> {
  get(name: string): number;
  get cpu(): number;
  get memory(): number;
  get ephemeralStorage(): number;
  get pods(): number;
}

/** Texts by key. An object without prototype. */
export type Texts = { readonly [key: string]: string | undefined };

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

export interface Toleration {
  readonly key: string;
  readonly operator: string;
  readonly value: string;
  readonly effect: string;
  readonly seconds: number | null;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly requests: Resources;
  readonly limits: Resources;
  readonly raw: any;
}

/** Controller of a pod, such as a ReplicaSet or a Job. */
export interface Owner {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly apiVersion: string;
}

/** Fields of pods and nodes. */
interface KubernetesObject {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Texts;
  readonly annotations: Texts;
  readonly createdAt: Date | null;
  /** The whole object in the JSON form of Kubernetes. */
  readonly raw: any;
}

export declare class Pod implements KubernetesObject {
  constructor(text: string);
  readonly kind: "Pod";
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly labels: Texts;
  readonly annotations: Texts;
  readonly createdAt: Date | null;
  readonly raw: any;
  readonly spec: any;
  readonly status: any;
  /** Total requests: `pod.requests.cpu` in milli-CPU, `pod.requests.get("nvidia.com/gpu")` in units. */
  readonly requests: Resources;
  /** Requested CPU and memory, with a small default for containers without requests. */
  readonly nonZeroRequests: Resources;
  readonly priority: number;
  readonly priorityClass: string;
  readonly schedulerName: string;
  /** Node of the pod; empty for a pending pod. */
  readonly nodeName: string;
  readonly nominatedNodeName: string;
  readonly nodeSelector: Texts;
  readonly tolerations: readonly Toleration[];
  /** Whether the pod tolerates a taint, or all of several taints. */
  tolerates(taints: Taint | readonly Taint[]): boolean;
  readonly containers: readonly Container[];
  readonly initContainers: readonly Container[];
  /** Images of all containers, init containers first. */
  readonly images: readonly string[];
  readonly schedulingGates: readonly string[];
  /** Controller of the pod, or null. */
  readonly owner: Owner | null;
}

export declare class Node implements KubernetesObject {
  constructor(text: string, labels?: string, images?: string);
  readonly kind: "Node";
  readonly name: string;
  readonly uid: string;
  readonly labels: Texts;
  readonly annotations: Texts;
  readonly createdAt: Date | null;
  readonly raw: any;
  readonly taints: readonly Taint[];
  /** Whether the node is cordoned. */
  readonly unschedulable: boolean;
  /** Status by condition type, such as `{Ready: "True"}`. */
  readonly conditions: Texts;
  /** Sizes in bytes of the images on the node, by all their names. */
  readonly images: ReadonlyMap<string, number>;
  readonly zone: string;
  readonly region: string;
}

/** A node with its pods and resource totals. One object for the lifetime of the node, updated in place. */
export declare class NodeInfo extends Node {
  private constructor();
  /** Allocatable resources: `node.allocatable.cpu`, `node.allocatable.get("nvidia.com/gpu")`. */
  readonly allocatable: Resources;
  /** Sum of the requests of all pods on the node. */
  readonly requested: Resources;
  /** Requested CPU and memory, with a small default for containers without requests. */
  readonly nonZeroRequested: Resources;
  readonly podCount: number;
  /** Allocatable minus requested amount of a resource. */
  free(resource: string): number;
  /** Whether all these amounts are free. */
  fits(requests: Iterable<readonly [string, number]>): boolean;
  /** Pods on the node. Requires `static wants = ["pods"]`. */
  readonly pods: readonly Pod[];
}

/** All nodes of the cluster. */
export declare class Nodes implements Iterable<NodeInfo> {
  [Symbol.iterator](): Iterator<NodeInfo>;
  readonly size: number;
  has(name: string): boolean;
  get(name: string): NodeInfo | undefined;
}

/** Fields of a log line. */
export type Fields = { readonly [key: string]: unknown };

/** Logger of a plugin, forwarded to the scheduler's log. */
export interface Logger {
  info(message: string, fields?: Fields): void;
  warning(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

/** A Kubernetes event to record. */
export interface EventToRecord {
  readonly reason: string;
  readonly note: string;
  readonly action?: string;
  readonly type?: "Normal" | "Warning";
  readonly related?: Pod | Node;
}

/** Parts of a sort key, smallest first. Texts are compared by code points. */
export type SortKey = number | bigint | boolean | string | Uint8Array | Date | readonly SortKey[];

/** A value that is equal for pods with equal results. */
export type Signature =
  | string
  | number
  | bigint
  | boolean
  | Date
  | null
  | undefined
  | readonly Signature[]
  | ReadonlyMap<string, Signature>
  | { readonly [key: string]: Signature };

/**
 * A normalization of scores to 0 … `maximum` (default 100). `proportional`: shares of the highest score, rounded down, as by
 * DefaultNormalizeScore of kube-scheduler. `min-max`: the lowest score becomes 0 and the highest the maximum; equal scores all
 * become the maximum. `none`: the scores stay as they are. With `reverse`, the lowest score is the best.
 */
export interface Normalization {
  method: "none" | "proportional" | "min-max";
  reverse?: boolean;
  maximum?: number;
}

/**
 * A scheduling policy: a module's default export.
 *
 *     export default class Fast extends Plugin {
 *       filter(state: CycleState, pod: Pod, node: NodeInfo): Verdict {
 *         if (node.labels["disk"] !== "ssd") return "no fast disk";
 *       }
 *     }
 *
 * One object serves many pods, several at a time. Data of a single pod belongs in `state`.
 */
export declare abstract class Plugin<Config = any> {
  /** Optional data to receive: "pods" (node.pods), "waitingPods" (this.waitingPods). */
  static wants: readonly ("pods" | "waitingPods")[];
  /** True if filter and score depend on the Node object only: results per node are then shared by all pods. */
  static ignoresPod: boolean;
  /**
   * True if `preFilter`, `filter`, `preScore` and `score` depend on the pod, the configuration and the node at hand with its
   * pods, and on nothing else. They are then called again for nodes that have changed since they were called for an equal
   * pod: mostly for the node of the previous pod. Pods are equal if all properties are that the plugin has read.
   *
   * Not pure: other nodes, the nodes of `preScore`, waiting pods, the time, properties of the plugin that other hooks change.
   * Name and uid of the pod, also in a log line, make every pod different. `kubewasp plugin test` compares.
   */
  static pure: boolean;
  /** Normalization of the scores by the scheduler, in place of `normalizeScores`. */
  static normalization: Normalization | undefined;
  /** Schema of the configuration; without one, any JSON is accepted. */
  static config: schema.Schema<any> | undefined;

  constructor(config?: unknown);
  readonly config: Config;
  readonly log: Logger;

  // Queue

  /** Changes that may make pods schedulable after a rejection by this plugin. Default: all changes. */
  events?(): readonly ClusterEvent[];
  /** Whether a change may make a rejected pod schedulable. Default: always. */
  queueingHint?(pod: Pod, change: Change): boolean;
  /** Whether the pod may enter the queue; a rejected pod waits for an event. */
  preEnqueue?(pod: Pod): Verdict;
  /** Position in the queue, smallest first. */
  sortKey?(pod: Pod, queuedAt: Date): SortKey;

  // Scheduling cycle

  /**
   * A value that is equal for pods with equal results of filter and score, which may otherwise depend on the Node
   * object only. The scheduler calls the hooks once for all pods with the same signature. Null: no sharing.
   */
  signature?(pod: Pod): Signature;
  /** Runs once per pod, before `filter`. May return the candidate nodes or their names, or `SKIP`. */
  preFilter?(state: CycleState, pod: Pod): Verdict | readonly (string | NodeInfo)[] | ReadonlySet<string>;
  /** Updates the state for a pod that is added to the node in a preemption trial. */
  addPod?(state: CycleState, pod: Pod, added: Pod, node: NodeInfo): Verdict;
  /** Updates the state for a pod that is removed from the node in a preemption trial. */
  removePod?(state: CycleState, pod: Pod, removed: Pod, node: NodeInfo): Verdict;
  /** Whether the pod can run on this node. */
  filter?(state: CycleState, pod: Pod, node: NodeInfo): Verdict;
  /** Runs if no node passed; `statuses` has the rejections, by node name. May return `new Nominate("node-1")`. */
  postFilter?(state: CycleState, pod: Pod, statuses: ReadonlyMap<string, Code>): Nominate | Status | string | null | void;
  /** Runs once per pod, before `score`, with the feasible nodes. May return `SKIP`. */
  preScore?(state: CycleState, pod: Pod, nodes: readonly NodeInfo[]): Verdict;
  /** Score of the node: 0 to 100, or any integer if the plugin normalizes scores. */
  score?(state: CycleState, pod: Pod, node: NodeInfo): number;
  /** Normalizes the scores, by node name, to 0 to 100: in place, or as a return value. */
  normalizeScores?(state: CycleState, pod: Pod, scores: Map<string, number>): Map<string, number> | void;
  /** The same without names, which is faster; instead of `normalizeScores`. */
  normalizeValues?(state: CycleState, pod: Pod, values: number[]): number[] | void;

  // Binding

  /** Runs when the node is selected for the pod. */
  reserve?(state: CycleState, pod: Pod, node: NodeInfo): Verdict;
  /** Reverts `reserve` when the pod is not bound after all. */
  unreserve?(state: CycleState, pod: Pod, node: NodeInfo): void;
  /** Approves, rejects or delays the binding. `new Wait(30)` delays it by up to 30 seconds. */
  permit?(state: CycleState, pod: Pod, node: NodeInfo): Verdict | Wait;
  /** Runs immediately before the binding. */
  preBind?(state: CycleState, pod: Pod, node: NodeInfo): Verdict;
  /** Binds the pod, or returns `SKIP` for the next bind plugin. */
  bind?(state: CycleState, pod: Pod, node: NodeInfo): Verdict;
  /** Runs after the binding. */
  postBind?(state: CycleState, pod: Pod, node: NodeInfo): void;

  // Services for plugins

  /** Time of the scheduler's clock; the simulated time in a simulation. */
  now(): Date;
  /** All nodes of the cluster. */
  get nodes(): Nodes;
  /** Pods that wait at Permit, with their `nodeName`. Requires `static wants = ["waitingPods"]`. */
  get waitingPods(): readonly Pod[];
  /** Allows a waiting pod (or uid); false if it is not waiting. */
  allow(pod: Pod | string): boolean;
  /** Rejects a waiting pod (or uid), which returns to the queue; false if it is not waiting. */
  reject(pod: Pod | string, reason?: string): boolean;
  /** Records a Kubernetes event about a pod or node. */
  recordEvent(regarding: Pod | Node, event: EventToRecord): void;
  /** Adds an annotation to the pod with its binding, in one request. In `reserve` and `preBind` only. */
  annotate(key: string, value: string): void;
}

/** Invalid configuration; the text names the field. A plugin may throw it in its constructor. */
export declare class ConfigError extends Error {}

/** Schemas of configurations: `schema.object({label: schema.string().default("disktype")})`. */
export declare namespace schema {
  /** One value of a configuration. */
  interface Schema<Value> {
    /** The value of a field that is not given. */
    default(value: Value): Schema<Value>;
    /** A field that may be missing or null; its value is then null. */
    optional(): Schema<Value | null>;
    /** A further condition: the function returns a text about an invalid value, else nothing. */
    check(problem: (value: Value) => string | null | undefined | false | void): Schema<Value>;
    /** For the type checker only. */
    readonly _value?: Value;
  }
  /** Type of the values of a schema. */
  type Of<Given extends Schema<any>> = Given extends Schema<infer Value> ? Value : never;

  function string(): Schema<string>;
  function boolean(): Schema<boolean>;
  function number(): Schema<number>;
  function integer(): Schema<number>;
  function oneOf<const Choice extends string | number>(...choices: Choice[]): Schema<Choice>;
  function list<Item>(item: Schema<Item>): Schema<readonly Item[]>;
  /** An object with any keys; a Map. */
  function map<Item>(item: Schema<Item>): Schema<ReadonlyMap<string, Item>>;
  /** Any JSON. */
  function any(): Schema<any>;
  /** An object with these fields. */
  function object<Fields extends { readonly [name: string]: Schema<any> }>(
    fields: Fields,
  ): Schema<{ readonly [Name in keyof Fields]: Of<Fields[Name]> }>;
}

/** Version of the SDK. */
export declare const VERSION: string;
