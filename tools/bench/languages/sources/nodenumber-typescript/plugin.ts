// nodenumber-typescript: prefers the node with the pod's number. web-3 prefers node-3.

import { type CycleState, type NodeInfo, Plugin, type Pod, schema, type Verdict } from "@kubewasp/sdk";

const SCORE = 10;

/** The plugin's configuration: guestConfig, as JSON. */
const Config = schema.object({
  reverse: schema.boolean().default(false), // prefer nodes with another number instead
  reserved: schema.integer().optional(), // nodes with this number accept no pods
});

export default class NodeNumber extends Plugin<schema.Of<typeof Config>> {
  static override config = Config;

  override signature(pod: Pod): string {
    return lastDigit(pod.name);
  }

  override filter(_state: CycleState, _pod: Pod, node: NodeInfo): Verdict {
    const digit = lastDigit(node.name);
    if (digit && Number(digit) === this.config.reserved) return `node number ${digit} is reserved`;
  }

  override score(_state: CycleState, pod: Pod, node: NodeInfo): number {
    const wanted = lastDigit(pod.name);
    const digit = lastDigit(node.name);
    if (!wanted || !digit) return 0;
    return (wanted === digit) !== this.config.reverse ? SCORE : 0;
  }
}

function lastDigit(name: string): string {
  return /[0-9]$/.exec(name)?.[0] ?? "";
}
