// spot-budget: bounds the share of a workload's pods on spot nodes, and prefers spot nodes below it.

import {
  Action,
  ClusterEvent,
  type CycleState,
  type NodeInfo,
  Plugin,
  type Pod,
  schema,
  Status,
  type Verdict,
} from "@kubewasp/sdk";

const SHARE = "kubewasp.dev/max-spot-share";
const COUNTS = "counts";

/** The plugin's configuration: guestConfig, as JSON. */
const Config = schema.object({
  label: schema.string().default("karpenter.sh/capacity-type"), // node label with the kind of capacity
  value: schema.string().default("spot"), // value of the label on spot nodes
  maxShare: schema.number().default(0.5).check(shareProblem), // share of a workload's pods on spot nodes
});

/** Pods of a workload: all that have a node, and those on spot nodes. */
interface Counts {
  total: number;
  spot: number;
}

export default class SpotBudget extends Plugin<schema.Of<typeof Config>> {
  static override wants = ["pods"] as const;
  static override config = Config;

  /** A rejected pod fits when its workload has grown elsewhere, or when there are other nodes. */
  override events(): ClusterEvent[] {
    return [
      new ClusterEvent("Pod", Action.Add | Action.Delete),
      new ClusterEvent("Node", Action.Add | Action.UpdateNodeLabel),
    ];
  }

  /** Counts the workload's pods once per pod. */
  override preFilter(state: CycleState, pod: Pod): Verdict {
    const problem = shareProblem(this.share(pod));
    if (problem) return Status.unresolvable(`annotation ${SHARE}: ${problem}`);
    const counts: Counts = { total: 0, spot: 0 };
    for (const node of this.nodes) {
      for (const other of node.pods) this.count(counts, pod, other, node, 1);
    }
    state.set(COUNTS, counts);
    return null;
  }

  override addPod(state: CycleState, pod: Pod, added: Pod, node: NodeInfo): Verdict {
    this.count(state.get(COUNTS), pod, added, node, 1);
  }

  override removePod(state: CycleState, pod: Pod, removed: Pod, node: NodeInfo): Verdict {
    this.count(state.get(COUNTS), pod, removed, node, -1);
  }

  override filter(state: CycleState, pod: Pod, node: NodeInfo): Verdict {
    const { total, spot }: Counts = state.get(COUNTS);
    const share = this.share(pod);
    if (!this.isSpot(node) || spot + 1 <= share * (total + 1)) return null;
    const percent = Math.round(share * 100);
    return Status.unschedulable(
      `${spot + 1} of ${total + 1} pods of ${workload(pod)} would be on spot nodes, at most ${percent}% may be`,
      "a node that is not a spot node",
    );
  }

  override score(_state: CycleState, _pod: Pod, node: NodeInfo): number {
    return this.isSpot(node) ? 100 : 0;
  }

  private isSpot(node: NodeInfo): boolean {
    return node.labels[this.config.label] === this.config.value;
  }

  private share(pod: Pod): number {
    const own = pod.annotations[SHARE];
    return own === undefined ? this.config.maxShare : Number(own || Number.NaN);
  }

  private count(counts: Counts, pod: Pod, other: Pod, node: NodeInfo, by: 1 | -1): void {
    if (other.uid === pod.uid || workload(other) !== workload(pod)) return;
    counts.total += by;
    if (this.isSpot(node)) counts.spot += by;
  }
}

/** Namespace and controller of a pod; a pod without a controller is a workload of its own. */
export function workload(pod: Pod): string {
  const { owner } = pod;
  return owner ? `${owner.kind} ${pod.namespace}/${owner.name}` : `Pod ${pod.namespace}/${pod.name}`;
}

function shareProblem(share: number): string | false {
  return !(share >= 0 && share <= 1) && "a share is a number from 0 to 1";
}
