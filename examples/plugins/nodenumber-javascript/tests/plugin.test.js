import assert from "node:assert/strict";
import test from "node:test";

import { makeNode, makePod, run } from "@kubewasp/sdk/testing";

import NodeNumber, { lastDigit } from "../plugin.js";

const nodes = () => ["node-1", "node-12", "node-3", "spare"].map((name) => makeNode(name));
const scores = (pod, config) => run(NodeNumber, makePod(pod), nodes(), { config }).scores;

test("a pod prefers the node with its number", () => {
  assert.deepEqual(scores("web-3"), { "node-1": 0, "node-12": 0, "node-3": 10, spare: 0 });
  assert.equal(run(NodeNumber, makePod("web-3"), nodes()).node, "node-3");
});

test("only the last digit counts", () => {
  assert.deepEqual(scores("web-42"), { "node-1": 0, "node-12": 10, "node-3": 0, spare: 0 });
});

test("reverse prefers other numbers, but never a node without a number", () => {
  assert.deepEqual(scores("web-3", { reverse: true }), { "node-1": 10, "node-12": 10, "node-3": 0, spare: 0 });
});

for (const reverse of [false, true]) {
  test(`a pod without a number prefers no node, reverse: ${reverse}`, () => {
    assert.deepEqual(new Set(Object.values(scores("web-3a", { reverse }))), new Set([0]));
  });
}

test("a reserved number is closed to all pods", () => {
  const outcome = run(NodeNumber, makePod("web-3"), nodes(), { config: { reserved: 3 } });
  assert.deepEqual(outcome.rejected, { "node-3": "node number 3 is reserved" });
});

test("the last digit of a name", () => {
  assert.deepEqual(["web-0", "9", "", "web-", "web-1a"].map(lastDigit), ["0", "9", "", "", ""]);
});

test("pods with the same digit have the same signature", () => {
  const plugin = new NodeNumber();
  assert.equal(plugin.signature(makePod("web-3")), plugin.signature(makePod("db-13")));
  assert.notEqual(plugin.signature(makePod("web-3")), plugin.signature(makePod("web-30")));
  assert.notEqual(plugin.signature(makePod("web")), null);
});

for (const [config, problem] of [
  [{ reverse: 1 }, /config\.reverse: expected true or false, got 1/],
  [{ reserved: 10 }, /reserved must be a digit, 0 to 9, not 10/],
  [{ revers: true }, /config\.revers: unknown field; did you mean "reverse"\?/],
]) {
  test(`a bad configuration is refused: ${JSON.stringify(config)}`, () => {
    assert.throws(() => run(NodeNumber, makePod(), nodes(), { config }), problem);
  });
}
