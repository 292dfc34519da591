// Reporter of `node --test`: one line of JSON per finished test, with a mark before it.

const MARK = "kubewasp-test ";

export default async function* reporter(events) {
  const names = [];
  for await (const { type, data } of events) {
    if (type === "test:start") {
      names.length = data.nesting;
      names[data.nesting] = data.name;
    } else if (type === "test:pass" || type === "test:fail") {
      names.length = data.nesting;
      names[data.nesting] = data.name;
      const { details, skip, todo } = data;
      if (details.type === "suite" && type === "test:pass") continue;
      if (details.error?.failureType === "subtestsFailed") continue;
      const result = { name: names.join(" > "), seconds: (details.duration_ms ?? 0) / 1000 };
      if (type === "test:fail" && todo === undefined) result.failure = failure(details.error);
      else if (skip !== undefined || todo !== undefined) result.skipped = text(skip) || text(todo) || "skipped";
      yield `${MARK}${JSON.stringify(result)}\n`;
    }
  }
}

function text(reason) {
  return typeof reason === "string" ? reason : "";
}

function failure(error) {
  const cause = error?.cause ?? error;
  const whole = (typeof cause?.stack === "string" && cause.stack) || (typeof cause === "string" ? cause : cause?.message);
  const shown = whole && cause?.message && !whole.includes(cause.message) ? `${cause.message}\n${whole}` : whole;
  return (shown ?? "failed")
    .split("\n")
    .filter((line) => !/\(?node:internal|^\s+at .*node:/.test(line))
    .join("\n");
}
