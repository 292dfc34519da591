/** Throws, on the third line. */
export function fail(node) {
  throw new RangeError(`not ${node.name}`);
}
