// nodenumber-javascript: prefers the node with the pod's number. web-3 prefers node-3.

import { Plugin, schema } from "@kubewasp/sdk";

const SCORE = 10;

/** The plugin's configuration: guestConfig, as JSON. */
const Config = schema.object({
  reverse: schema.boolean().default(false), // prefer nodes with another number instead
  reserved: schema // nodes with this number accept no pods
    .integer()
    .check((digit) => (digit < 0 || digit > 9) && `reserved must be a digit, 0 to 9, not ${digit}`)
    .optional(),
});

/** Compares the last digits of names. A name that does not end in a digit never scores. */
export default class NodeNumber extends Plugin {
  static config = Config;

  /** Pods with the same digit share results: a node is evaluated once for all of them. */
  signature(pod) {
    return lastDigit(pod.name);
  }

  filter(state, pod, node) {
    const digit = lastDigit(node.name);
    if (digit && Number(digit) === this.config.reserved) return `node number ${digit} is reserved`;
  }

  score(state, pod, node) {
    const wanted = lastDigit(pod.name);
    const digit = lastDigit(node.name);
    if (!wanted || !digit) return 0;
    return (wanted === digit) !== this.config.reverse ? SCORE : 0;
  }
}

/** Last character of the name if it is a digit, else empty. */
export function lastDigit(name) {
  return /[0-9]$/.exec(name)?.[0] ?? "";
}
