// filter-reasons: rejects closed nodes and nodes with little free CPU, with a reason for each.

import { Plugin, Status } from "@kubewasp/sdk";

const CLOSED = Status.unresolvable("node is closed to new pods");
const FULL = Status.unschedulable("node has less than 20 % of its CPU left");

export default class FilterReasons extends Plugin {
  filter(state, pod, node) {
    if (node.labels["kubewasp.dev/closed"] === "true") return CLOSED;
    return 5 * node.requested.cpu > 4 * node.allocatable.cpu ? FULL : undefined;
  }
}
