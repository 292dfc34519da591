// Collectors for log lines (of `this.log` and of console.warn and console.error) and printed output (of console.log).

const MOST_LINES = 1000;
const INFO = 0;
const WARNING = 1;
const ERROR = 2;

let collector = null;
const engine = globalThis.console;

/** Logger of all plugins: `log.info("message", {key: value})`. In tests it writes to the console. */
export const logger = Object.freeze({
  info: (message, fields) => write(INFO, message, fields),
  warning: (message, fields) => write(WARNING, message, fields),
  error: (message, fields) => write(ERROR, message, fields),
});

function write(severity, message, fields) {
  const text = line(message, fields);
  if (collector !== null) collector.add(severity, text);
  else [console.info, console.warn, console.error][severity](text);
}

function line(message, fields) {
  const pairs = Object.entries(fields ?? {}).map(([key, value]) => ` ${key}=${JSON.stringify(shown(value))}`);
  return `${shown(message)}${pairs.join("")}`;
}

/** Writes a line past the collector. The engine may put a label before the first line of a text. */
export function writeToStderr(text) {
  engine.error(`\n${text}`);
}

/** Buffer of log lines (pairs of severity and text) and of printed output, both bounded. */
export class Collector {
  #severity = INFO;
  #lines = [];
  #dropped = 0;
  #limit = 0;
  #room = 0;
  #texts = [];
  #cut = 0;

  /** Collects the logger's lines of at least this severity, and what the console prints. */
  install(severity, limit) {
    this.#severity = severity;
    this.#limit = this.#room = limit;
    collector = this;
    const print = (...values) => this.print(`${values.map(shown).join(" ")}\n`);
    const log = (level) => (...values) => this.add(level, values.map(shown).join(" "));
    globalThis.console = {
      ...globalThis.console,
      log: print,
      info: print,
      debug: print,
      trace: print,
      warn: log(WARNING),
      error: log(ERROR),
      assert: (condition, ...values) => condition || log(ERROR)("Assertion failed", ...values),
    };
  }

  add(severity, text) {
    if (severity < this.#severity) return;
    if (this.#lines.length >= MOST_LINES) this.#dropped += 1;
    else this.#lines.push([severity, text]);
  }

  print(text) {
    const kept = text.slice(0, this.#room);
    if (kept) this.#texts.push(kept);
    this.#room -= kept.length;
    this.#cut += text.length - kept.length;
  }

  /** Adds lines and output to an answer, and forgets them. */
  takeInto(answer) {
    if (this.#lines.length > 0) {
      answer.logs = this.#lines;
      answer.dropped = this.#dropped;
      this.#lines = [];
      this.#dropped = 0;
    }
    if (this.#texts.length > 0 || this.#cut > 0) {
      answer.output = this.#texts.join("") + (this.#cut > 0 ? `… (${this.#cut} more characters)` : "");
      this.#texts = [];
      this.#room = this.#limit;
      this.#cut = 0;
    }
  }
}

/** A value as text, for people. */
function shown(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Map) return shown(Object.fromEntries(value));
  if (typeof value?.name === "string" && typeof value.kind === "string") {
    return value.namespace ? `${value.namespace}/${value.name}` : value.name;
  }
  try {
    return (typeof value === "object" ? JSON.stringify(value) : undefined) ?? String(value);
  } catch {
    return String(value);
  }
}
