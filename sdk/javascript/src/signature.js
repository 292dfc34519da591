// Signatures of pods: the first 64 bits of the SHA-256 of a value. A fixed hash, because all instances must agree; a
// strong one, because parts of the value come from users of the cluster.

const utf8 = new TextEncoder();
const primes = firstPrimes(64);
const START = primes.slice(0, 8).map((prime) => fractionBits(Math.sqrt(prime)));
const ROUNDS = Int32Array.from(primes, (prime) => fractionBits(Math.cbrt(prime)));

/** 64-bit digest of a signature, as a bigint; never 0, which means no signature. */
export function hashed(signature) {
  if (signature === undefined || signature === null) return 0n;
  const [high, low] = sha256(utf8.encode(text(signature)));
  return ((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)) || 1n;
}

/** The words of the digest. */
export function sha256(message) {
  const size = ((message.length + 8) >> 6) + 1;
  const padded = new DataView(new ArrayBuffer(size * 64));
  for (let place = 0; place < message.length; place++) padded.setUint8(place, message[place]);
  padded.setUint8(message.length, 0x80);
  padded.setUint32(size * 64 - 8, Math.floor(message.length / 2 ** 29));
  padded.setUint32(size * 64 - 4, message.length * 8);
  const state = Int32Array.from(START);
  const words = new Int32Array(64);
  for (let block = 0; block < size; block++) compress(state, words, padded, block * 64);
  return state;
}

function compress(state, words, padded, offset) {
  for (let i = 0; i < 16; i++) words[i] = padded.getInt32(offset + i * 4);
  for (let i = 16; i < 64; i++) {
    const early = words[i - 15];
    const late = words[i - 2];
    const s0 = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
    const s1 = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
    words[i] = (words[i - 16] + s0 + words[i - 7] + s1) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const one = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i] + words[i]) | 0;
    const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((value, place) => (state[place] += value));
}

/** A text that differs for different values; the order of an object's keys does not matter. */
function text(value) {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
    case "boolean":
      return String(value);
    case "bigint":
      return `${value}n`;
    case "undefined":
      return "null";
    case "object":
      break;
    default:
      throw new TypeError(`signature: a ${typeof value} cannot be part of a signature`);
  }
  if (value === null) return "null";
  if (value instanceof Date) return `@${value.getTime()}`;
  if (Array.isArray(value)) return `[${value.map(text).join()}]`;
  const pairs = value instanceof Map ? [...value] : Object.entries(value);
  return `{${pairs
    .map(([key, item]) => `${JSON.stringify(String(key))}:${text(item)}`)
    .sort()
    .join()}}`;
}

function turned(word, by) {
  return (word >>> by) | (word << (32 - by));
}

function fractionBits(root) {
  return Math.floor((root % 1) * 2 ** 32) | 0;
}

function firstPrimes(count) {
  const found = [];
  for (let number = 2; found.length < count; number++) {
    if (found.every((prime) => number % prime)) found.push(number);
  }
  return found;
}
