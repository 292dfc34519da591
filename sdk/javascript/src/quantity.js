// Kubernetes quantities such as `500m`, `1.5Gi` or `2e3`, exact to a billionth.

const FORM = /^([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?0*[0-9]{1,3})|([KMGTPE]i|[numkMGTPE]?))$/;
const BINARY = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n };
const DECIMAL = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const MOST_CHARACTERS = 100;
const NANO = 10n ** 9n;
const MILLI = NANO / 1000n;

/** The value in billionths (a bigint), rounded away from zero. */
export function nanos(quantity) {
  const text = String(quantity);
  const found = text.length <= MOST_CHARACTERS ? FORM.exec(text) : null;
  if (found === null) throw new RangeError(`not a quantity: ${JSON.stringify(text.slice(0, MOST_CHARACTERS))}`);
  const [, sign, whole, fraction = "", exponent, suffix = ""] = found;
  const ten = 9 + (exponent ? Number(exponent) : (DECIMAL[suffix] ?? 0)) - fraction.length;
  let value = BigInt(whole + fraction || "0") << (BINARY[suffix] ?? 0n);
  const scale = 10n ** BigInt(Math.abs(ten));
  value = ten >= 0 ? value * scale : divided(value, scale);
  return sign === "-" ? -value : value;
}

/** The value in scheduler units, rounded away from zero: milli-CPU for cpu, else whole units. */
export function whole(resource, inNanos) {
  return Number(divided(inNanos, resource === "cpu" ? MILLI : NANO));
}

/** A quantity in scheduler units: `amount("cpu", "1.5")` is 1500. */
export function amount(resource, quantity) {
  return whole(resource, nanos(quantity));
}

function divided(value, by) {
  const quotient = value / by; // towards zero
  if (value % by === 0n) return quotient;
  return value > 0n ? quotient + 1n : quotient - 1n;
}
