// Makes a component of a bundled plugin.
//
//     componentize.mjs BUNDLE WIT OUTPUT
//
// The engine runs the module's top level once and keeps its memory (a start snapshot): an instance starts with the
// plugin loaded. Clocks, random numbers and standard streams stay; HTTP is left out.
//
// An error is that of the plugin, in the author's files, without the frames of the tools.
//
// componentize-js starts wizer as a process for the snapshot. snapshot.mjs takes its place, because its bytes are always
// the same.

import child_process from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { explained } from "./engine_errors.mjs";
import { snapshot } from "./snapshot.mjs";
import { importTool } from "./tool_modules.mjs";

const [bundle, wit, output] = process.argv.slice(2);
const INITIALIZER = "componentize.wizer";
const SOURCE = "source.js";
const BINDINGS = "initializer.js";

child_process.spawnSync = (_wizer, options, { env }) => {
  const engine = options.at(-1);
  const result = options.find((option) => option.startsWith("-o=")).slice("-o=".length);
  const folder = join(dirname(engine), "sources");
  try {
    const files = Object.fromEntries([SOURCE, BINDINGS].map((name) => [name, readFileSync(join(folder, name))]));
    const made = snapshot(readFileSync(engine), {
      initializer: INITIALIZER,
      dropped: [INITIALIZER, "_initialize"],
      environment: env,
      input: `--initializer-script-path /${BINDINGS} --strip-path-prefix / ${SOURCE}`,
      files,
    });
    writeFileSync(result, made);
    return { status: 0, signal: null, stderr: "" };
  } catch (error) {
    return { status: 1, signal: null, stderr: error.message };
  }
};
syncBuiltinESMExports();

const { componentize } = await importTool("@bytecodealliance", "componentize-js", "src", "componentize.js");
const source = readFileSync(bundle, "utf8");
try {
  const { component } = await componentize(source, {
    sourceName: SOURCE,
    witPath: wit,
    worldName: "plugin",
    disableFeatures: ["http", "fetch-event"],
  });
  writeFileSync(output, component);
} catch (error) {
  process.stderr.write(`${explained(error.message, source)}\n`);
  process.exitCode = 1;
}
