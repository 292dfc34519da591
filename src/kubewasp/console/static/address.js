// Addresses of views: #/view/part/part?key=value. The run and the position of the timeline stay while views change.

const lasting = ["run", "at"];

export function parse(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter(Boolean).map(decode);
  return { view: parts[0] || "overview", parts: parts.slice(1), params: new URLSearchParams(query) };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function address(path, params = {}) {
  const query = new URLSearchParams();
  const current = parse().params;
  for (const key of lasting) if (!(key in params) && current.get(key) !== null) query.set(key, current.get(key));
  for (const [key, value] of Object.entries(params)) if (value !== null && value !== undefined && value !== "") query.set(key, value);
  const text = query.toString();
  return `#/${path.map((part) => encodeURIComponent(part)).join("/")}${text ? `?${text}` : ""}`;
}

export function podAddress(key, params) {
  const [namespace, ...rest] = String(key).split("/");
  return address(["pod", namespace, rest.join("/")], params);
}

export function decisionAddress(key, params) {
  const [namespace, ...rest] = String(key).split("/");
  return address(["decision", namespace, rest.join("/")], params);
}

export function nodeAddress(name) {
  return address(["node", name]);
}

// The current address with some parameters changed; null removes one.
export function changed(params) {
  const here = parse();
  const query = Object.fromEntries(here.params);
  return address([here.view, ...here.parts], { ...query, ...Object.fromEntries(lasting.filter((key) => !(key in query)).map((key) => [key, null])), ...params });
}
