// Probe of the engine: errors in other files, output, random numbers, annotations.

import { Plugin } from "@kubewasp/sdk";

import { fail } from "./failing.js";

export default class Probe extends Plugin {
  random = Math.random();

  filter(state, pod, node) {
    if (pod.name === "fails") fail(node);
    if (pod.name === "sleeps") while (node.name);
    console.log(`seen ${node.name}`);
    this.log.warning("random", { value: this.random });
  }

  reserve(state, pod, node) {
    this.annotate("example.com/node", node.name);
  }
}
