// Modules of the tools, from the folder that kubewasp has installed them into: KUBEWASP_NODE_TOOLS.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.env.KUBEWASP_NODE_TOOLS;

export function requireTool(name) {
  return createRequire(join(folder, "package.json"))(name);
}

export function importTool(...path) {
  return import(pathToFileURL(join(folder, "node_modules", ...path)).href);
}
