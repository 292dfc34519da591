// Schemas of plugin configurations: `schema.object({label: schema.string().default("disktype")})`.
//
// A schema decodes parsed JSON. Unknown, missing and invalid fields are errors that name the field.

/** Invalid configuration; the text names the field. A plugin may throw it in its constructor. */
export class ConfigError extends Error {
  constructor(message) {
    super(message);
    this.name = "ConfigError";
  }
}

/** One value of a configuration. Immutable: `default`, `optional` and `check` return new schemas. */
class Schema {
  constructor(read, { fallback, checks = [] } = {}) {
    this._read = read;
    this._fallback = fallback;
    this._checks = checks;
    Object.freeze(this);
  }

  /** The value of a field that is not given. */
  default(value) {
    return new Schema(this._read, { fallback: () => structuredClone(value), checks: this._checks });
  }

  /** A field that may be missing or null; its value is then null. */
  optional() {
    const read = (value, where) => (value === null ? null : this._decoded(value, where));
    return new Schema(read, { fallback: () => null });
  }

  /** A further condition: the function returns a text about an invalid value, else nothing. */
  check(problem) {
    return new Schema(this._read, { fallback: this._fallback, checks: [...this._checks, problem] });
  }

  _decoded(value, where) {
    const read = this._read(value, where);
    for (const problem of this._checks) {
      const text = problem(read);
      if (typeof text === "string" && text) throw new ConfigError(`${where}: ${text}`);
    }
    return read;
  }
}

export function string() {
  return new Schema((value, where) => expected(typeof value === "string", "a string", value, where));
}

export function boolean() {
  return new Schema((value, where) => expected(typeof value === "boolean", "true or false", value, where));
}

export function number() {
  return new Schema((value, where) => expected(typeof value === "number", "a number", value, where));
}

export function integer() {
  return new Schema((value, where) => expected(Number.isSafeInteger(value), "a whole number", value, where));
}

export function oneOf(...choices) {
  return new Schema((value, where) =>
    expected(choices.includes(value), `one of ${choices.map((item) => JSON.stringify(item)).join(", ")}`, value, where),
  );
}

export function list(item) {
  return new Schema((value, where) =>
    expected(Array.isArray(value), "a list", value, where).map((each, place) => item._decoded(each, `${where}[${place}]`)),
  );
}

/** An object with any keys; a Map. */
export function map(item) {
  return new Schema(
    (value, where) =>
      new Map(
        Object.entries(expected(isObject(value), "an object", value, where)).map(([key, each]) => [
          key,
          item._decoded(each, `${where}.${key}`),
        ]),
      ),
  );
}

/** Any JSON. */
export function any() {
  return new Schema((value) => value);
}

/** An object with these fields. */
export function object(fields) {
  const names = Object.keys(fields);
  return new Schema((value, where) => {
    expected(isObject(value), "an object", value, where);
    for (const key of Object.keys(value)) {
      if (!Object.hasOwn(fields, key)) throw new ConfigError(`${where}.${key}: unknown field${hint(key, names)}`);
    }
    const decoded = {};
    for (const name of names) {
      const field = fields[name];
      if (Object.hasOwn(value, name)) decoded[name] = field._decoded(value[name], `${where}.${name}`);
      else if (field._fallback) decoded[name] = field._fallback();
      else throw new ConfigError(`${where}.${name}: missing`);
    }
    return Object.freeze(decoded);
  });
}

/** Plain values of a JSON text; an empty text is an empty object. */
export function parse(text) {
  if (!text.trim()) return {};
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ConfigError(`config: not valid JSON: ${error.message}`);
  }
}

/** A configuration, decoded with the schema of its plugin, if there is one. */
export function decode(schema, value) {
  const given = value ?? {};
  if (schema === undefined) return given;
  if (!(schema instanceof Schema)) throw new TypeError("static config: expected a schema, such as schema.object({…})");
  return schema._decoded(given, "config");
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function expected(isRight, wanted, value, where) {
  if (!isRight) throw new ConfigError(`${where}: expected ${wanted}, got ${shown(value)}`);
  return value;
}

function shown(value) {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}

function hint(key, names) {
  const near = names.map((name) => [distance(key, name), name]).sort(([left], [right]) => left - right)[0];
  if (near && near[0] <= (key.length < 4 ? 1 : Math.max(2, Math.floor(key.length / 3)))) return `; did you mean "${near[1]}"?`;
  return `; there are ${names.join(", ") || "none"}`;
}

/** Number of edits between two names; both are short. */
function distance(left, right) {
  if (Math.max(left.length, right.length) > 60) return Infinity;
  let row = Array.from({ length: right.length + 1 }, (_, place) => place);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (left[i - 1] === right[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[right.length];
}
