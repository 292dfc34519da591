// nodenumber: 10 points for a node whose name ends in the same digit as the pod's name; no pods are signed.

import { Plugin } from "@kubewasp/sdk";

export default class NodeNumber extends Plugin {
  preScore(state, pod, nodes) {
    const last = pod.name.at(-1);
    state.set("digit", last >= "0" && last <= "9" ? last : "");
  }

  score(state, pod, node) {
    return node.name.at(-1) === state.get("digit") ? 10 : 0;
  }
}
