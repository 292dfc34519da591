// Requests of the component ABI, for tests of the guest.

import { exportsOf } from "../src/guest.js";

const settings = { config: "", output: 1000, severity: 0 };

/** A started guest: its description, and `call(header, ...lines)` with parsed answers. */
export function started(pluginClass, changes = {}) {
  const own = globalThis.console;
  const { start, call } = exportsOf(pluginClass);
  const description = JSON.parse(start(JSON.stringify({ ...settings, ...changes })));
  const send = (header, ...lines) => call([JSON.stringify({ now: 0, cycle: 1, ...header }), ...lines].join("\n"));
  globalThis.console = own;
  return { description, send, call: (...request) => JSON.parse(send(...request)) };
}

export const POD = 'p {"metadata":{"name":"p","uid":"u-1"}}';

/** Lines of a node with labels. */
export function node(row, name, labels = {}) {
  return [`n ${row} ${JSON.stringify(name)}`, `l ${JSON.stringify(labels)}`, "o {}", 'r [0,0,2,10,{"cpu":4000},{"cpu":1000}]'];
}
