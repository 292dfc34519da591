// Start snapshot of a module: its initializer runs once, and the memory after it becomes the data of the module.
//
// The same step as that of wizer, whose bytes differ with each run: the engine keys its hash tables with random numbers, and
// has time and folders in its memory. Here all inputs are fixed (fixed_wasi.mjs), so that equal sources give equal bytes
// (docs/rationale.md, "Own start snapshot of JavaScript").
//
// Memory alone is kept. That is complete for the engine of componentize-js: its only global is the stack pointer, which is
// back where it was after the call, and its table does not change.

import { Exit, fixedWasi } from "./fixed_wasi.mjs";

const HEADER = 8;
const [MEMORY, EXPORT, DATA, DATA_COUNT] = [5, 7, 11, 12];
// Zeros between two segments: a segment takes some ten bytes, and engines limit their number.
const GAP = 16;
const MOST_SEGMENTS = 100_000;
const PAGE = 65536;

/**
 * The module after its initializer, without the exports in `dropped`. Throws an Error with the text on its standard error
 * if it fails.
 */
export function snapshot(bytes, { initializer, dropped, environment, input, files }) {
  const module = new WebAssembly.Module(bytes);
  const { imports, attach, errors } = fixedWasi({ environment, input, files });
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] ??= () => {
      throw new Error(`${from} ${name}: not available while the plugin is built`);
    };
  }
  const { exports } = new WebAssembly.Instance(module, imports);
  attach(exports.memory);
  try {
    exports._initialize?.();
    exports[initializer]();
  } catch (error) {
    throw new Error(errors() || `${error instanceof Exit ? `exit code ${error.code}` : error.message}`, { cause: error });
  }
  return rewritten(bytes, new Uint8Array(exports.memory.buffer), dropped);
}

function rewritten(bytes, memory, dropped) {
  const segments = segmentsOf(memory);
  const parts = [bytes.subarray(0, HEADER)];
  for (const { id, whole, content } of sections(bytes)) {
    if (id === MEMORY) parts.push(...section(id, [leb(1), [0], leb(memory.length / PAGE)]));
    else if (id === EXPORT) parts.push(...section(id, keptExports(content, dropped)));
    else if (id === DATA_COUNT) parts.push(...section(id, [leb(segments.length)]));
    else if (id === DATA) parts.push(...section(id, data(content, memory, segments)));
    else parts.push(whole);
  }
  return Buffer.concat(parts.map((part) => (part instanceof Uint8Array ? part : Uint8Array.from(part))));
}

function* sections(bytes) {
  for (let at = HEADER; at < bytes.length; ) {
    const start = at;
    const reader = { bytes, at: at + 1 };
    const size = number(reader);
    at = reader.at + size;
    yield { id: bytes[start], whole: bytes.subarray(start, at), content: bytes.subarray(reader.at, at) };
  }
}

function section(id, parts) {
  return [[id], leb(parts.reduce((sum, part) => sum + part.length, 0)), ...parts];
}

function keptExports(content, dropped) {
  const reader = { bytes: content, at: 0 };
  const kept = [];
  for (let left = number(reader); left > 0; left--) {
    const start = reader.at;
    const size = number(reader);
    const name = Buffer.from(content.subarray(reader.at, reader.at + size)).toString();
    reader.at += size + 1;
    number(reader);
    if (!dropped.includes(name)) kept.push(content.subarray(start, reader.at));
  }
  return [leb(kept.length), ...kept];
}

/** Start and end of all pieces of the memory that are not zero. */
function segmentsOf(memory) {
  const words = new Uint32Array(memory.buffer);
  const found = [];
  for (let at = 0; at < memory.length; at++) {
    if (at % 4 === 0 && words[at / 4] === 0) {
      at += 3;
      continue;
    }
    if (memory[at] === 0) continue;
    const last = found.at(-1);
    if (last && at - last[1] < GAP) last[1] = at + 1;
    else found.push([at, at + 1]);
  }
  if (found.length > MOST_SEGMENTS) throw new Error(`the memory of the plugin has over ${MOST_SEGMENTS} pieces`);
  return found;
}

function data(content, memory, segments) {
  const reader = { bytes: content, at: 0 };
  for (let left = number(reader); left > 0; left--) {
    if (content[reader.at] !== 0) throw new Error("the engine has passive data");
    reader.at += 2; // its kind, and i32.const
    number(reader);
    reader.at += 1; // end
    const size = number(reader);
    reader.at += size;
  }
  const written = segments.flatMap(([start, end]) => [
    [0, 0x41, ...signed(start), 0x0b],
    leb(end - start),
    memory.subarray(start, end),
  ]);
  return [leb(segments.length), ...written];
}

/** An unsigned number in LEB128. */
function number(reader) {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = reader.bytes[reader.at++];
    value += (byte & 127) * scale;
    if (byte < 128) return value;
  }
}

function leb(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return [...bytes, value];
}

/** A 32-bit address as a signed number in LEB128. */
function signed(address) {
  let value = address | 0;
  const bytes = [];
  for (;;) {
    const byte = value & 127;
    value >>= 7;
    if ((value === 0 && byte < 64) || (value === -1 && byte >= 64)) return [...bytes, byte];
    bytes.push(byte | 128);
  }
}
