// label-cpu: reads a label and the requested CPU of every node.

import { Plugin } from "@kubewasp/sdk";

export default class LabelCpu extends Plugin {
  score(state, pod, node) {
    const score = node.requested.cpu % 49;
    return node.labels["topology.kubernetes.io/zone"] === "eu-west-1a" ? score + 50 : score;
  }
}
