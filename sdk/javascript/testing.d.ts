// Types of the fakes for unit tests.

import type { NodeInfo, Nodes, Plugin, Pod, Status, Taint } from "@kubewasp/sdk";

type Quantities = { readonly [resource: string]: string | number };
type Strings = { readonly [key: string]: string };
type PluginClass<Made extends Plugin = Plugin> = new (config?: any) => Made;

export interface PodOptions {
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Strings;
  readonly annotations?: Strings;
  readonly requests?: Quantities;
  readonly image?: string;
  readonly priority?: number;
  readonly node?: string;
  readonly createdAt?: Date;
  /** Further fields of the pod spec. */
  readonly spec?: { readonly [field: string]: unknown };
}

export interface NodeOptions {
  readonly labels?: Strings;
  readonly annotations?: Strings;
  readonly allocatable?: Quantities;
  /** Objects, or texts of the form `key=value:NoSchedule`. */
  readonly taints?: readonly (string | Taint)[];
  readonly unschedulable?: boolean;
  /** Sizes in bytes by image name. */
  readonly images?: { readonly [name: string]: number };
  readonly conditions?: Strings;
  readonly pods?: readonly Pod[];
}

/** Result of a pod: its node, or the rejections by node. */
export interface Outcome {
  readonly status: Status;
  readonly reason: string;
  readonly node: string;
  readonly rejected: { readonly [node: string]: string };
  readonly hints: { readonly [node: string]: string };
  readonly scores: { readonly [node: string]: number };
  readonly nominated: string;
  readonly isWaiting: boolean;
}

/** A recorded event. */
export interface RecordedEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
  readonly action: string;
  readonly regarding: ObjectReference;
  readonly related: ObjectReference | null;
}

export interface ObjectReference {
  readonly kind: string;
  readonly apiVersion: string;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** Default time of a fake cluster. */
export declare const NOON: Date;

/** A pod with one container. */
export declare function makePod(name?: string, options?: PodOptions): Pod;

/** A node with its pods. */
export declare function makeNode(name?: string, options?: NodeOptions): NodeInfo;

/** Schedules one pod on these nodes with this plugin alone. */
export declare function run(
  plugin: PluginClass | Plugin,
  pod: Pod,
  nodes: Iterable<NodeInfo>,
  options?: { readonly config?: unknown; readonly now?: Date },
): Outcome;

/** Nodes with their pods, waiting pods, and a clock. */
export declare class FakeCluster {
  constructor(nodes?: Iterable<NodeInfo>, options?: { readonly now?: Date });
  readonly nodes: Nodes;
  readonly time: Date;
  /** Nodes of the bound pods. */
  readonly bound: { readonly [pod: string]: string };
  /** Reasons of pods that failed after Reserve. */
  readonly unbound: { readonly [pod: string]: string };
  /** Annotations of the bound pods. */
  readonly annotations: { readonly [pod: string]: Strings };
  /** Names of the pods that wait at Permit. */
  readonly waiting: readonly string[];
  readonly events: readonly RecordedEvent[];
  /** A plugin connected to this cluster. A class is instantiated with the configuration. */
  start<Made extends Plugin>(plugin: PluginClass<Made> | Made, config?: unknown): Made;
  /** Advances the clock. Waiting pods past their timeout are rejected. */
  advance(seconds: number): void;
  /** Pods in the order of `sortKey`, queued one after the other. */
  queue(plugin: Plugin, pods: Iterable<Pod>): Pod[];
  /** A whole scheduling cycle of a pod, with this plugin alone. */
  schedule(plugin: Plugin, pod: Pod): Outcome;
}
