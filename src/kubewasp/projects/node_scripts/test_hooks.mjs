// Module hooks for native tests: the SDK of kubewasp, and TypeScript without its types. Registered by register.mjs.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { requireTool } from "./tool_modules.mjs";

const sdk = process.env.KUBEWASP_JAVASCRIPT_SDK;
const TYPESCRIPT = /\.m?ts$/;
let esbuild;

export async function resolve(specifier, context, next) {
  if (/^@kubewasp\/sdk($|\/)/.test(specifier)) {
    const { exports } = JSON.parse(readFileSync(join(sdk, "package.json"), "utf8"));
    const found = exports[`.${specifier.slice("@kubewasp/sdk".length)}`];
    if (found) return { url: pathToFileURL(join(sdk, found.default)).href, shortCircuit: true };
  }
  // TypeScript may name a module as its compiled form: plugin.js for plugin.ts.
  if (specifier.startsWith(".") && specifier.endsWith(".js") && context.parentURL && TYPESCRIPT.test(context.parentURL)) {
    const typed = new URL(specifier.replace(/\.js$/, ".ts"), context.parentURL);
    if (!existsSync(fileURLToPath(new URL(specifier, context.parentURL))) && existsSync(fileURLToPath(typed))) {
      return { url: typed.href, shortCircuit: true };
    }
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (!url.startsWith("file:") || !TYPESCRIPT.test(new URL(url).pathname)) return next(url, context);
  esbuild ??= requireTool("esbuild");
  const file = fileURLToPath(url);
  const options = { loader: "ts", format: "esm", target: "es2022", sourcemap: "inline", sourcefile: file };
  const tsconfigRaw = { compilerOptions: { useDefineForClassFields: true } };
  const { code } = await esbuild.transform(readFileSync(file, "utf8"), { ...options, tsconfigRaw });
  return { format: "module", source: code, shortCircuit: true };
}
