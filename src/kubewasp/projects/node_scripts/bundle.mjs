// Bundles a plugin into one module for the component, with a table of source lines in its first line.
//
//     bundle.mjs PROJECT ENTRY SDK OUTPUT
//
// Prints a JSON object: {"inputs": […]} with all bundled files, or {"errors": […]}.

import { readFileSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { requireTool } from "./tool_modules.mjs";

const [project, entry, sdk, output] = process.argv.slice(2);
const esbuild = requireTool("esbuild");
const LINES = "globalThis.kubewaspSourceLines = 0;";
const MISSING = {
  fs: "plugins have no files",
  net: "plugins have no network",
  http: "plugins have no network",
  https: "plugins have no network",
  child_process: "plugins cannot start processes",
  worker_threads: "plugins have no threads",
};

const ours = {
  name: "kubewasp",
  setup(build) {
    build.onResolve({ filter: /^@kubewasp\/sdk($|\/)/ }, ({ path }) => {
      const exported = JSON.parse(readFileSync(join(sdk, "package.json"), "utf8")).exports[`.${path.slice("@kubewasp/sdk".length)}`];
      return exported ? { path: join(sdk, exported.default) } : { errors: [{ text: `the SDK has no module ${path}` }] };
    });
    build.onResolve({ filter: /^(node:)?[a-z_]+($|\/)/ }, ({ path, importer }) => {
      const name = path.replace(/^node:/, "").split("/")[0];
      if (!builtinModules.includes(name) || (!path.startsWith("node:") && ownPackage(importer, name))) return null;
      const why = MISSING[name] ?? "it does not exist in WebAssembly";
      return { errors: [{ text: `import "${path}": this module does not work in a plugin: ${why}` }] };
    });
  },
};

/** Whether a package of the project has the name of a module of Node. */
function ownPackage(importer, name) {
  try {
    readFileSync(join(project, "node_modules", name, "package.json"));
    return true;
  } catch {
    return false;
  }
}

try {
  const built = await esbuild.build({
    stdin: {
      contents: `import plugin from "./${entry}";
import { exportsOf } from "@kubewasp/sdk/guest";
export const { start, call } = exportsOf(plugin, globalThis.kubewaspSourceLines);
`,
      resolveDir: project,
      sourcefile: "kubewasp_entry.js",
    },
    absWorkingDir: project,
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["import", "module"],
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    sourcemap: "external",
    metafile: true,
    outfile: output,
    write: false,
    logLevel: "silent",
    banner: { js: LINES },
    plugins: [ours],
    tsconfigRaw: { compilerOptions: { useDefineForClassFields: true } },
  });
  const [map, code] = built.outputFiles.sort((one) => (one.path.endsWith(".map") ? -1 : 1));
  const table = sourceLines(JSON.parse(map.text));
  // Comments with the names of files: the place of the SDK on this machine is no part of a plugin.
  const place = relative(project, sdk).split("\\").join("/").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const text = code.text.replace(new RegExp(`^// ${place}/`, "gm"), "// @kubewasp/sdk/");
  writeFileSync(output, text.replace(LINES, () => `globalThis.kubewaspSourceLines = ${JSON.stringify(table)};`));
  const inputs = Object.keys(built.metafile.inputs).filter((name) => name !== "kubewasp_entry.js" && name !== "<stdin>");
  process.stdout.write(JSON.stringify({ inputs: inputs.map((name) => resolve(project, name)) }));
} catch (failed) {
  if (!failed.errors) throw failed;
  for (const error of failed.errors) {
    if (error.location?.file !== "kubewasp_entry.js" || !error.text.includes('for import "default"')) continue;
    error.text = `${entry} has no default export: write \`export default class … extends Plugin\``;
    error.location = null;
  }
  const errors = await esbuild.formatMessages(failed.errors, { kind: "error", color: false, terminalWidth: 100 });
  process.stdout.write(JSON.stringify({ errors: errors.map((text) => text.trim()) }));
}

/** Names of the author's files, and `[file, line]` of each line of the bundle; 0 for lines of the SDK. */
function sourceLines({ sources, mappings }) {
  const base = dirname(output);
  const names = sources.map((name) => relative(project, resolve(base, decodeURIComponent(name)))); // maps have URLs
  const isAuthors = names.map((name) => !name.startsWith("..") && !name.endsWith("kubewasp_entry.js"));
  const state = { source: 0, line: 0 };
  const lines = mappings.split(";").map((segments) => {
    let first = 0;
    for (const segment of segments ? segments.split(",") : []) {
      const [, source, line] = numbers(segment);
      if (source === undefined) continue;
      state.source += source;
      state.line += line;
      first ||= isAuthors[state.source] ? [state.source, state.line + 1] : 0;
    }
    return first;
  });
  return { files: names.map((name, place) => (isAuthors[place] ? name : "")), lines };
}

/** The numbers of a segment of a source map. */
function numbers(segment) {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const found = [];
  let value = 0;
  let shift = 0;
  for (const letter of segment) {
    const digit = digits.indexOf(letter);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    found.push(value & 1 ? -(value >> 1) : value >> 1);
    value = shift = 0;
  }
  return found;
}
