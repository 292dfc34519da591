// Error reports: kind, cause, and the stack in the author's code.
//
// A component is one bundled file. Its last statement (written by `kubewasp plugin build`) is a table of source lines,
// which gives a frame back its file and line. Frames without an author's line are those of the SDK and of the engine.

const MOST_FRAMES = 16;
const MOST_TEXT = 8000;
// SpiderMonkey: `filter@source.js:12:3`; V8: `    at Mine.filter (file:///…/plugin.js:12:3)`.
const SPIDERMONKEY = /^(.*)@(.*):(\d+):(\d+)$/;
const V8 = /^\s+at (?:(?:new |async )?(.*?) \()?(.*?):(\d+):\d+\)?$/;
const OURS = /[\\/]sdk[\\/]javascript[\\/]src[\\/]|@kubewasp[\\/]sdk[\\/]/;

let files = null;
let lines = null;

/** Installs the table of a bundle: names of source files, and `[file, line]` (or 0) of each line of the bundle. */
export function setSourceLines(table) {
  files = table.files;
  lines = table.lines;
}

/** Kind of the error, a summary line, and the stack in the author's code. */
export function told(error, node = "") {
  // SpiderMonkey throws this text, not an Error.
  if (error === "out of memory") return { kind: "MemoryError", cause: error, trace: "" };
  const isError = error instanceof Error;
  const kind = isError ? error.name || error.constructor.name : typeof error;
  const summary = isError ? `${kind}: ${error.message}` : `thrown: ${String(error)}`;
  const trace = [summary, ...(isError ? frames(error) : [])];
  for (let cause = error?.cause, depth = 0; cause instanceof Error && depth < 4; cause = cause.cause, depth++) {
    trace.push(`caused by ${cause.name}: ${cause.message}`, ...frames(cause));
  }
  return { kind, cause: node ? `node ${node}: ${summary}` : summary, trace: trace.join("\n").slice(0, MOST_TEXT) };
}

function frames(error) {
  const found = [];
  for (const line of String(error.stack ?? "").split("\n")) {
    const match = SPIDERMONKEY.exec(line) ?? V8.exec(line);
    const place = match && placed(match[2], Number(match[3]));
    if (place) found.push(`    at ${match[1] ? `${match[1]} (${place})` : place}`);
    if (found.length === MOST_FRAMES) break;
  }
  return found;
}

/** File and line in the author's code; empty for other code. */
function placed(file, line) {
  if (lines === null) return OURS.test(file) || file.startsWith("node:") ? "" : `${file.split(/[\\/]/).pop()}:${line}`;
  const source = lines[line - 1];
  return source ? `${files[source[0]]}:${source[1]}` : "";
}
