// plugin-name: a scheduler plugin that prefers nodes by the value of a label, and rejects some of them.

import { type CycleState, type NodeInfo, Plugin, type Pod, schema, Status, type Verdict } from "@kubewasp/sdk";

/** The plugin's configuration: guestConfig, as JSON. */
const Config = schema.object({
  label: schema.string().default("disktype").check((label) => !label && "label must not be empty"), // node label
  prefer: schema.list(schema.string()).default(["nvme", "ssd"]), // preferred values of the label, best first
  closed: schema.list(schema.string()).default([]), // values of nodes that accept pods of kube-system only
});

/** Implements Filter and Score; the scheduler calls the hooks that a plugin has. */
export default class PreferLabel extends Plugin<schema.Of<typeof Config>> {
  static override config = Config;
  // The results depend on the pod, the configuration and one node with its pods: the scheduler asks again only about nodes
  // that have changed. Remove this line if the plugin looks at other nodes, the time, or properties that hooks change.
  static override pure = true;
  // The best of the nodes gets 100, the others a share of it.
  static override normalization = { method: "proportional" } as const;

  /** Rejects closed nodes, except for pods of kube-system. */
  override filter(_state: CycleState, pod: Pod, node: NodeInfo): Verdict {
    const { label, closed } = this.config;
    const value = node.labels[label] ?? "";
    if (closed.includes(value) && pod.namespace !== "kube-system") {
      return Status.unresolvable(`nodes with ${label}=${value} are closed`);
    }
    return null;
  }

  /** Rates the node by the position of its label value in the list. */
  override score(_state: CycleState, _pod: Pod, node: NodeInfo): number {
    const { label, prefer } = this.config;
    const place = prefer.indexOf(node.labels[label] ?? "");
    return place < 0 ? 0 : prefer.length - place;
  }
}
