// Answers of the JSON API: from the server, or from those embedded in a self-contained file.

export class AnswerError extends Error {
  constructor(code, text, hint) {
    super(text);
    this.code = code;
    this.hint = hint || "";
  }
}

const embeddedElement = document.getElementById("kubewasp-answers");
export const embedded = embeddedElement ? JSON.parse(embeddedElement.textContent) : null;
export const base = new URL("../api/v1", document.baseURI).href;

let csrf = null;
let firstRun = null;

export function useSession(session) {
  csrf = session.csrf;
  firstRun = session.runs[0]?.id ?? null;
}

// The path with its query sorted; without what stands for itself: empty values, and the first run.
export function keyOf(path, query = {}) {
  const items = Object.entries(query).filter(([key, value]) => value !== null && value !== undefined && value !== "" && !(key === "run" && value === firstRun));
  items.sort(([first], [second]) => (first < second ? -1 : 1));
  const text = new URLSearchParams(items).toString();
  const safe = path.split("/").map(encodeURIComponent).join("/");
  return text ? `${safe}?${text}` : safe;
}

export async function ask(path, query = {}, signal = undefined) {
  if (embedded) return fromFile(path, query);
  return answer(`${base}${keyOf(path, query)}`, { headers: { Accept: "application/json" }, signal });
}

export async function act(path) {
  if (embedded) throw new AnswerError(404, "This file shows a moment; it changes nothing.");
  return answer(`${base}${keyOf(path)}`, { method: "POST", headers: { "X-CSRF-Token": csrf || "" } });
}

export async function signOut() {
  await fetch("sign-out", { method: "POST", credentials: "same-origin" }).catch(() => null);
}

// Embedded answers by path and parameters, however their address was encoded.
const kept = new Map(Object.keys(embedded || {}).map((key) => {
  const [path, query = ""] = key.split(/\?(.*)/s);
  return [canonical(path.split("/").map(decodeURIComponent).join("\n"), [...new URLSearchParams(query)]), key];
}));
// Parts of a list: a file has the whole of it.
const partial = new Set(["limit", "after", "from", "part", "sort", "only"]);

function canonical(path, items) {
  const known = items.filter(([key, value]) => value !== null && value !== undefined && value !== "" && !(key === "run" && value === firstRun) && !(key === "by" && value === "zone"));
  return JSON.stringify([path, known.map(([key, value]) => `${key}=${value}`).sort()]);
}

function fromFile(path, query) {
  const items = Object.entries(query);
  const place = path.split("/").join("\n");
  for (const attempt of [items, items.filter(([key]) => !partial.has(key))]) {
    const key = kept.get(canonical(place, attempt));
    if (key !== undefined) return embedded[key];
  }
  throw new AnswerError(404, "This is not in this file.", "A file holds the views that were chosen when it was written; kubewasp console shows the rest.");
}

async function answer(address, options) {
  let response;
  try {
    response = await fetch(address, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new AnswerError(0, "The server does not answer.", "The page goes on trying.");
  }
  let document;
  try {
    document = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new AnswerError(response.status, `The server's answer (${response.status}) is not readable.`);
  }
  if (!response.ok) {
    const found = document?.error || {};
    throw new AnswerError(response.status, found.message || `The server answered ${response.status}.`, found.hint);
  }
  return document;
}

// All pages of an answer, up to a number of rows, joined by the caller.
export async function pages(path, query, most, onPage, signal) {
  let after = null;
  let total = 0;
  do {
    const page = await ask(path, { ...query, after }, signal);
    total += onPage(page);
    after = page.next ?? null;
  } while (after && total < most && !embedded);
  return after;
}
