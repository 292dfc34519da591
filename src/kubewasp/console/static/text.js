// Text of the cluster, shown harmlessly: control and direction characters become visible, long text is cut, and
// <bdi> keeps a right-to-left name from turning its surroundings.
import { h } from "./dom.js";

const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const pictures = { "\n": "␊", "\t": "␉", "\r": "␍", "\u0000": "␀", "\u001b": "␛" };
const marks = /\p{M}{3,}/gu;

export function visible(value, most = 160) {
  const text = String(value ?? "");
  const start = text.length > most ? text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "") : text;
  const shown = start.toWellFormed().replace(hidden, point).replace(marks, (found) => found.slice(0, 2));
  return start === text ? shown : `${shown}…`;
}

function point(character) {
  return pictures[character] || `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

// A name of the cluster. The whole of a cut name stands in its title, up to a bound.
export function name(value, most = 80) {
  const shown = visible(value, most);
  const cut = shown.endsWith("…") ? { title: visible(value, 600) } : {};
  return h("bdi", { class: "name", ...cut }, shown);
}

export function sentence(value, most = 600) {
  return h("bdi", { class: "sentence" }, visible(value, most));
}

// A message of any length: its beginning, and the rest on demand.
export function message(value, most = 280) {
  const text = String(value ?? "");
  if (text.length <= most) return sentence(text, most);
  return h("details", { class: "more-text" }, h("summary", null, sentence(text, most)), h("p", null, sentence(text, 4200)));
}
