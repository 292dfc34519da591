import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";

import { ConfigError, Node, Pod, schema } from "../src/index.js";
import { amount } from "../src/quantity.js";
import { decode } from "../src/schema.js";
import { hashed, sha256 } from "../src/signature.js";
import { encoded } from "../src/sort_key.js";

test("quantities are exact and rounded up", () => {
  const cases = { 1.5: 1500, "100m": 100, "1u": 1, 2e3: 2_000_000, "0.0001": 1, "-1": -1000 };
  for (const [text, milli] of Object.entries(cases)) assert.equal(amount("cpu", text), milli, text);
  assert.equal(amount("memory", "1.5Gi"), 1.5 * 2 ** 30);
  assert.equal(amount("memory", "129e6"), 129_000_000);
  for (const text of ["", "m", "1 Gi", "1.2.3", "0x1", "9".repeat(101)]) assert.throws(() => amount("cpu", text), /not a quantity/);
});

test("quantities are those of the scheduler", () => {
  const table = readFileSync(new URL("../../../tests/sdk/data/quantities.txt", import.meta.url), "utf8");
  for (const [text, value, milli] of table.trim().split("\n").map((line) => line.split(" "))) {
    if (Number.isSafeInteger(Number(value))) assert.equal(amount("memory", text), Number(value), text);
    if (Number.isSafeInteger(Number(milli))) assert.equal(amount("cpu", text), Number(milli), text);
  }
});

test("tolerations match as in Kubernetes", () => {
  const tolerates = (toleration, taint) => new Pod(JSON.stringify({ spec: { tolerations: [toleration] } })).tolerates(taint);
  const taint = { key: "gpu", value: "a100", effect: "NoSchedule" };
  assert.ok(tolerates({ operator: "Exists" }, taint));
  assert.ok(tolerates({ value: "a100" }, taint)); // no key: all keys
  assert.ok(tolerates({ key: "gpu", value: "a100", effect: "NoSchedule" }, taint));
  assert.ok(!tolerates({ key: "gpu", value: "h100" }, taint));
  assert.ok(!tolerates({ key: "gpu", operator: "Lt", value: "a100" }, taint));
  assert.ok(!tolerates({ key: "gpu", operator: "Exists", effect: "NoExecute" }, taint));
});

test("requests are those of the scheduler", () => {
  const container = (cpu, more = {}) => ({ resources: { requests: cpu ? { cpu } : {} }, ...more });
  const pod = (spec) => new Pod(JSON.stringify({ spec }));
  assert.equal(pod({ containers: [container("1"), container("500m")] }).requests.cpu, 1500);
  assert.equal(pod({ containers: [container("1")], initContainers: [container("2")] }).requests.cpu, 2000);
  const sidecar = container("1", { restartPolicy: "Always" });
  assert.equal(pod({ containers: [container("1")], initContainers: [sidecar, container("2")] }).requests.cpu, 3000);
  assert.equal(pod({ containers: [container("1")], overhead: { cpu: "250m" } }).requests.cpu, 1250);
  assert.equal(pod({ containers: [container("1")], resources: { requests: { cpu: "4" } } }).requests.cpu, 4000);
  assert.equal(pod({ containers: [container("")] }).nonZeroRequests.cpu, 100);
  assert.equal(pod({}).requests.get("nvidia.com/gpu"), 0);
});

test("labels have no members of Object", () => {
  assert.equal(new Pod("{}").labels.constructor, undefined);
  assert.equal(new Node("{}", '{"a":"b"}').labels.toString, undefined);
  assert.equal(new Node('{"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}}').taints[0].value, "");
});

test("tolerations are those of Kubernetes", () => {
  const pod = new Pod(JSON.stringify({ spec: { tolerations: [{ key: "a", value: "1" }, { key: "b", operator: "Exists" }] } }));
  assert.equal(pod.tolerates({ key: "a", value: "1", effect: "NoSchedule" }), true);
  assert.equal(pod.tolerates({ key: "a", value: "2", effect: "NoSchedule" }), false);
  assert.equal(pod.tolerates([{ key: "b", value: "x", effect: "" }, { key: "c", value: "", effect: "" }]), false);
});

test("keys compare as their values", () => {
  const ordered = [-Infinity, -(2 ** 60), -1.5, -1, -5e-324, 0, 5e-324, 0.5, 1, 1.5, 255, 256, 2 ** 53, 2n ** 900n, 2n ** 1000n, Infinity];
  const keys = ordered.map(encoded);
  assert.deepEqual([...keys].sort(), keys);
  assert.equal(new Set(keys).size, keys.length);
  const lists = [["a"], ["a", 1], ["a", [0, 5]], ["a\0"], ["a\0b"], ["b"], ["\u{ffff}"], ["\u{1f600}"]].map(encoded);
  assert.deepEqual([...lists].sort(), lists);
  assert.ok(encoded(new Date(1)) < encoded(new Date(2)));
  for (const wrong of [null, undefined, Number.NaN, {}, "x".repeat(2000)]) assert.throws(() => encoded(wrong), /sortKey/);
});

test("the hash is SHA-256", () => {
  for (const size of [0, 1, 55, 56, 63, 64, 65, 200]) {
    const message = Buffer.alloc(size, "ab");
    const words = sha256(message);
    const hex = [...words].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
    assert.equal(hex, createHash("sha256").update(message).digest("hex"), `${size} bytes`);
  }
});

test("equal signatures have equal hashes, whatever the order of keys", () => {
  assert.equal(hashed({ a: 1, b: [2] }), hashed({ b: [2], a: 1 }));
  assert.notEqual(hashed(["ab", "c"]), hashed(["a", "bc"]));
  assert.notEqual(hashed("1"), hashed(1));
  assert.equal(hashed(null), 0n);
  assert.throws(() => hashed(() => 1), /cannot be part of a signature/);
});

const settings = schema.object({
  mode: schema.oneOf("cheap", "fast"),
  prices: schema.list(schema.object({ zone: schema.string(), perHour: schema.number().default(1) })).default([]),
  limits: schema.map(schema.integer()).default(new Map()),
  note: schema.string().optional(),
});

test("a configuration is decoded, with defaults", () => {
  const found = decode(settings, { mode: "fast", prices: [{ zone: "a" }], limits: { x: 1 } });
  assert.deepEqual(found, { mode: "fast", prices: [{ zone: "a", perHour: 1 }], limits: new Map([["x", 1]]), note: null });
  assert.ok(Object.isFrozen(found));
  assert.deepEqual(decode(undefined, { any: 1 }), { any: 1 });
});

for (const [value, message] of [
  [{}, "config.mode: missing"],
  [{ mode: "slow" }, 'config.mode: expected one of "cheap", "fast", got "slow"'],
  [{ mode: "fast", pricse: [] }, 'config.pricse: unknown field; did you mean "prices"?'],
  [{ mode: "fast", qqq: 1 }, "config.qqq: unknown field; there are mode, prices, limits, note"],
  [{ mode: "fast", prices: [{ zone: 3 }] }, "config.prices[0].zone: expected a string, got 3"],
  [{ mode: "fast", limits: { x: 1.5 } }, "config.limits.x: expected a whole number, got 1.5"],
  [{ mode: "fast", note: 1 }, "config.note: expected a string, got 1"],
  [{ mode: "fast", prices: {} }, "config.prices: expected a list, got {}"],
  [[], "config: expected an object, got []"],
  [{ mode: "fast", __proto__x: 1 }, "config.__proto__x: unknown field"],
]) {
  test(`an invalid configuration: ${message}`, () => {
    assert.throws(
      () => decode(settings, value),
      (error) => error instanceof ConfigError && error.message.startsWith(message),
    );
  });
}
