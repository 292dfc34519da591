// plugin-name: a scheduler plugin that prefers nodes by the value of a label, and rejects some of them.

import { Plugin, schema, Status } from "@kubewasp/sdk";

/** The plugin's configuration: guestConfig, as JSON. */
const Config = schema.object({
  label: schema.string().default("disktype").check((label) => !label && "label must not be empty"), // node label
  prefer: schema.list(schema.string()).default(["nvme", "ssd"]), // preferred values of the label, best first
  closed: schema.list(schema.string()).default([]), // values of nodes that accept pods of kube-system only
});

/**
 * Implements Filter and Score; the scheduler calls the hooks that a plugin has.
 *
 * @extends {Plugin<schema.Of<typeof Config>>}
 */
export default class PreferLabel extends Plugin {
  static config = Config;
  // The results depend on the pod, the configuration and one node with its pods: the scheduler asks again only about nodes
  // that have changed. Remove this line if the plugin looks at other nodes, the time, or properties that hooks change.
  static pure = true;
  // The best of the nodes gets 100, the others a share of it.
  static normalization = { method: "proportional" };

  /** Rejects closed nodes, except for pods of kube-system. */
  filter(state, pod, node) {
    const { label, closed } = this.config;
    const value = node.labels[label];
    if (closed.includes(value) && pod.namespace !== "kube-system") {
      return Status.unresolvable(`nodes with ${label}=${value} are closed`);
    }
  }

  /** Rates the node by the position of its label value in the list. */
  score(state, pod, node) {
    const { label, prefer } = this.config;
    const place = prefer.indexOf(node.labels[label]);
    return place < 0 ? 0 : prefer.length - place;
  }
}
