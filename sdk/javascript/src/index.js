// SDK for Kubernetes scheduler plugins: a plugin is a subclass of `Plugin` that overrides hooks. index.d.ts has the types.

export { Action, Change, ClusterEvent } from "./events.js";
export { NodeInfo, Nodes } from "./node_info.js";
export { Node, Pod } from "./objects.js";
export { Plugin } from "./plugin.js";
export { Resources } from "./resources.js";
export * as schema from "./schema.js";
export { ConfigError } from "./schema.js";
export { CycleState } from "./state.js";
export { Code, Nominate, SKIP, SUCCESS, Status, Wait } from "./status.js";
export { VERSION } from "./version.js";
