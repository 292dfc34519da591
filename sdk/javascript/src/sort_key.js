// Sort keys as bytes, with the order of the values.

const MOST_BYTES = 1024;
const [END, NUMBER, DATE, TEXT, BYTES, LIST] = [0x00, 0x10, 0x18, 0x20, 0x28, 0x30];
const ZERO = 0x80;
const LONG = 120;
const utf8 = new TextEncoder();

/** The hexadecimal digits of a key; their order is the order of the keys. */
export function encoded(key) {
  const bytes = [];
  for (const item of Array.isArray(key) ? key : [key]) append(item, bytes);
  if (bytes.length > MOST_BYTES) {
    throw new RangeError(`sortKey: the key takes ${bytes.length} bytes; at most ${MOST_BYTES} are allowed`);
  }
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function append(item, bytes) {
  if (typeof item === "number" || typeof item === "bigint") {
    bytes.push(NUMBER, ...number(item));
  } else if (typeof item === "boolean") {
    bytes.push(NUMBER, ...number(Number(item)));
  } else if (typeof item === "string") {
    bytes.push(TEXT, ...ended(utf8.encode(item)));
  } else if (item instanceof Uint8Array) {
    bytes.push(BYTES, ...ended(item));
  } else if (item instanceof Date) {
    bytes.push(DATE, ...number(item.getTime()));
  } else if (Array.isArray(item)) {
    bytes.push(LIST);
    for (const inner of item) append(inner, bytes);
    bytes.push(END);
  } else {
    const kind = item === null ? "null" : typeof item;
    throw new TypeError(`sortKey: a key is made of numbers, strings, bytes, dates and arrays of them, not ${kind}`);
  }
}

/** Escaped bytes with a terminator that sorts before any continuation. */
function* ended(content) {
  if (content.length > MOST_BYTES) throw new RangeError(`sortKey: a text of ${content.length} bytes; at most ${MOST_BYTES} are allowed`);
  for (const byte of content) {
    yield byte;
    if (byte === 0) yield 0xff;
  }
  yield 0;
  yield 0;
}

/** Bytes of the magnitude; inverted for a negative number, so that the order is reversed. */
function number(value) {
  if (Number.isNaN(value)) throw new RangeError("sortKey: NaN cannot be compared");
  if (value === Infinity) return [0xff];
  if (value === -Infinity) return [0x00];
  return value < 0 ? magnitude(-value).map((byte) => 255 - byte) : magnitude(value);
}

/** Whole part, then the fraction, both exact. No encoding is the beginning of another. */
function magnitude(value) {
  const whole = typeof value === "bigint" ? value : BigInt(Math.trunc(value));
  const fraction = typeof value === "bigint" ? 0 : value - Math.trunc(value);
  let digits = whole === 0n ? "" : whole.toString(16);
  if (digits.length % 2) digits = `0${digits}`;
  const bytes = digits.match(/../g)?.map((pair) => Number.parseInt(pair, 16)) ?? [];
  return [...length(bytes.length), ...bytes, ...(fraction ? [1, ...double(fraction)] : [0])];
}

function double(value) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value);
  return bytes;
}

/** Length, then digits: longer numbers are larger. From 120 bytes on, the length takes two more bytes. */
function length(size) {
  if (size < LONG) return [ZERO + size];
  if (size > MOST_BYTES) throw new RangeError("sortKey: the number is too large");
  return [ZERO + LONG, size >> 8, size & 0xff];
}
