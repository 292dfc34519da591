// Parts that several views share: headings, panels, badges, links to pods and nodes, choices.
import { address, decisionAddress, nodeAddress, podAddress } from "./address.js";
import { h, icon } from "./dom.js";
import { clock } from "./format.js";
import { name, sentence } from "./text.js";

export function heading(title, lead, ...extra) {
  return h("div", { class: "heading" }, h("div", { class: "heading-text" }, h("h1", { tabindex: -1 }, title), lead && h("p", { class: "lead" }, lead)), extra);
}

export function panel(title, props, ...children) {
  const { class: look = "", aside, key, level = "h2" } = props || {};
  return h("section", { class: `panel ${look}`, key: key || (typeof title === "string" ? title : undefined) }, title && h("div", { class: "panel-head" }, h(level, null, title), aside), children);
}

export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([label, value]) => h("div", { key: label }, h("dt", null, label), h("dd", null, value))));
}

const looks = { scheduled: "good", placed: "good", unschedulable: "bad", error: "bad", rejected: "bad", failing: "bad", preempted: "warn", waiting: "wait", gated: "wait", backoff: "wait", rollout: "note", verified: "good", unsigned: "warn" };
const pictures = { good: "check", bad: "cross", warn: "alert", wait: "clock", note: "dot", plain: "dot" };

// A word with a sign: never a colour alone.
export function badge(word, look = looks[word] || "plain") {
  return h("span", { class: `badge badge-${look}` }, icon(pictures[look] || "dot"), String(word).replaceAll("-", " "));
}

export function sign(kind) {
  const look = looks[kind] || "plain";
  return h("span", { class: `sign sign-${look}` }, icon(pictures[look]));
}

// Changes of the cluster in order. Where they have positions, a pod opens as it was then.
export function changeList(items, current = undefined) {
  return h("ol", { class: "changes" }, items.map((item, index) => h("li", {
    key: `${item.position ?? item.time} ${item.kind} ${item.pod || item.node || index}`, class: item.position !== undefined && item.position === current ? "current" : "", "aria-current": item.position !== undefined && item.position === current ? "step" : null,
  }, h("time", { datetime: item.time }, clock(item.time)), sign(item.kind), h("span", { class: "change-text" }, h("span", { class: "change-kind" }, item.kind.replaceAll("-", " ")), " ",
    item.pod && podLink(item.pod, 60, item.position === undefined ? {} : { at: item.position + (item.kind === "deleted" ? -1 : 0) }), item.pod && item.node && " on ", item.node && nodeLink(item.node), remark(item)))));
}

// A change's text, without what its pod and kind say already.
function remark({ text, pod, node, kind }) {
  let rest = text || "";
  for (const known of [pod, node]) if (known && rest.startsWith(known)) rest = rest.slice(known.length).replace(/^:?\s+/, "");
  return rest && rest !== kind && rest !== `on ${node}` && rest !== `${kind} on ${node}` ? [" ", h("span", { class: "soft" }, sentence(rest, 160))] : null;
}

export function podLink(key, most = 70, params = {}) {
  return h("a", { href: podAddress(key, params), class: "object" }, name(key, most));
}

export function decisionLink(key, most = 70) {
  return h("a", { href: decisionAddress(key), class: "object" }, name(key, most));
}

export function nodeLink(key, most = 60) {
  return key ? h("a", { href: nodeAddress(key), class: "object" }, name(key, most)) : h("span", { class: "none" }, "–");
}

export function pluginLink(key) {
  return h("a", { href: address(["plugins"], { plugin: key }), class: "chip" }, name(key, 40));
}

export function select(label, value, options, onChange, props = {}) {
  return h("label", { class: "field", ...props }, h("span", null, label), h("select", { value, onchange: (event) => onChange(event.target.value) },
    options.map(([key, text]) => h("option", { key, value: key, selected: key === value }, text))));
}

// Choices of one, as links in a row: their addresses can be shared.
export function tabs(label, items) {
  return h("nav", { class: "tabs", "aria-label": label }, h("ul", null, items.map((item) => h("li", { key: item.key },
    h("a", { href: item.href, "aria-current": item.current ? "page" : null }, item.label, item.count !== undefined && h("span", { class: "count" }, item.count))))));
}

export function choices(label, value, options, onChange) {
  return h("div", { class: "choices", role: "group", "aria-label": label }, options.map(([key, text]) =>
    h("button", { key, type: "button", "aria-pressed": String(key === value), onclick: () => onChange(key) }, text)));
}

export function note(...children) {
  return h("p", { class: "note" }, icon("info"), h("span", null, children));
}
