// Makes a component of a bundled plugin.
//
//     componentize.mjs BUNDLE WIT OUTPUT
//
// The engine runs the module's top level once and keeps its memory (a start snapshot): an instance starts with the
// plugin loaded. Clocks, random numbers and standard streams stay; HTTP is left out.

import { readFileSync, writeFileSync } from "node:fs";
import { importTool } from "./tool_modules.mjs";

const [bundle, wit, output] = process.argv.slice(2);
const { componentize } = await importTool("@bytecodealliance", "componentize-js", "src", "componentize.js");
const { component } = await componentize(readFileSync(bundle, "utf8"), {
  witPath: wit,
  worldName: "plugin",
  disableFeatures: ["http", "fetch-event"],
});
writeFileSync(output, component);
