// Normalizations of scores by the scheduler itself, without a call of the plugin.

const METHODS = ["none", "proportional", "min-max"];
const HIGHEST = 100;

/** Number of the method, reverse and maximum of a declared normalization; an error for an unknown one. */
export function declared({ method, reverse = false, maximum = HIGHEST }) {
  if (!METHODS.includes(method)) {
    throw new RangeError(`normalization: unknown method ${JSON.stringify(method)}; there are ${METHODS.join(", ")}`);
  }
  return [METHODS.indexOf(method), Number(reverse), maximum];
}

/** The normalized scores, as by the scheduler. */
export function normalized({ method, reverse = false, maximum = HIGHEST }, scores) {
  if (method === "none" || scores.length === 0) return scores;
  const highest = scores.reduce((best, score) => Math.max(best, score));
  const lowest = scores.reduce((least, score) => Math.min(least, score));
  let shares;
  if (method === "min-max") {
    if (lowest === highest) return scores.map(() => maximum);
    shares = scores.map((score) => Math.trunc((maximum * (score - lowest)) / (highest - lowest)));
  } else if (highest > 0) {
    shares = scores.map((score) => Math.trunc((maximum * score) / highest));
  } else {
    return reverse ? scores.map(() => maximum) : scores;
  }
  return reverse ? shares.map((share) => maximum - share) : shares;
}
