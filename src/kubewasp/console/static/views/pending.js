// Pending pods by reason, with what would help; a group opens into its pods.
import { address } from "../address.js";
import { h, icon } from "../dom.js";
import { age, count, number, waited } from "../format.js";
import { decisionLink, heading, panel, pluginLink, podLink } from "../pieces.js";
import { more, table } from "../table.js";
import { message, name, sentence } from "../text.js";

export const pending = {
  title: ({ parts }) => (parts[0] ? "Pending group" : "Pending"),
  follows: true,
  async load({ ask, run, at, parts, memory }) {
    const path = parts[0] ? `/pending/${parts[0]}` : "/pending";
    const limit = Math.min(1000, memory.limit || 100);
    return ask(path, { run, at, limit: limit === 100 ? null : limit });
  },
  render(context, data) {
    return context.parts[0] ? group(context, data) : groups(context, data);
  },
};

function enlarge(context) {
  return () => {
    context.memory.limit = Math.min(1000, (context.memory.limit || 100) * 5);
    context.reload();
  };
}

function groups(context, data) {
  const { now } = context;
  const most = data.groups.reduce((sum, item) => Math.max(sum, item.pods), 1);
  return [
    heading("Pending", data.total ? `${count(data.total, "pod")} without a node, in ${count(data.groups.length, "group")} by reason.` : "No pod waits for a node."),
    !data.groups.length && panel(null, { class: "blank", key: "blank" }, icon("check"), h("p", null, "Every pod has a node.")),
    h("ol", { class: "groups" }, data.groups.map((item) => h("li", { key: item.id, class: "panel group" },
      h("div", { class: "group-head" },
        h("span", { class: "group-count" }, number(item.pods), h("span", { class: "hidden" }, item.pods === 1 ? " pod" : " pods"), h("span", { class: "group-bar", "aria-hidden": "true" }, h("span", { style: { width: `${(item.pods / most) * 100}%` } }))),
        h("div", { class: "group-text" },
          h("h2", null, h("a", { href: address(["pending", item.id]) }, sentence(item.reason, 300))),
          h("p", { class: "small" }, item.plugins.length > 0 && ["Rejected by ", item.plugins.map((plugin) => [pluginLink(plugin), " "])],
            item.oldest && ["Oldest: ", podLink(item.oldest.pod, 60), `, ${waited(item.oldest.since, now)}`])),
        ),
      item.help.length > 0 && h("div", { class: "help" }, h("h3", null, icon("idea"), "What would help"), h("ul", null, item.help.map((text, index) => h("li", { key: index }, sentence(text, 400))))),
      h("p", { class: "examples" }, h("span", { class: "soft" }, "Decisions: "), item.examples.slice(0, 5).map((key) => h("span", { key }, decisionLink(key, 50), " ")),
        h("a", { class: "arrow", href: address(["pending", item.id]) }, item.pods === 1 ? "Show the pod" : `All ${number(item.pods)} pods`, icon("right")))))),
    more(data.groups.length, undefined, data.next, enlarge(context)),
  ];
}

function group(context, data) {
  const { now } = context;
  return [
    h("p", { class: "crumbs" }, h("a", { href: address(["pending"]) }, "Pending"), icon("right"), "Group"),
    heading(sentence(data.reason, 300), `${number(data.total)} ${data.total === 1 ? "pod" : "pods"}, oldest first.`),
    panel(null, { class: "flush", key: "pods" }, table({
      key: "pods", label: "Pods of this group", rows: data.pods, total: data.total, rowKey: (row) => row.key,
      columns: [
        { key: "key", label: "Pod", render: (row) => podLink(row.key) },
        { key: "since", label: "Waiting", numeric: true, render: (row) => age(row.since, now), sort: (row) => -Date.parse(row.since) },
        { key: "attempts", label: "Attempts", numeric: true, render: (row) => number(row.attempts), sort: (row) => row.attempts, wide: true },
        { key: "priority", label: "Priority", numeric: true, render: (row) => number(row.priority), sort: (row) => row.priority, wide: true },
        { key: "owner", label: "Owner", render: (row) => (row.owner ? name(row.owner, 40) : "–"), sort: (row) => row.owner, wide: true },
        { key: "message", label: "Message", class: "grow", wide: true, render: (row) => (data.pods.length > 120 ? sentence(row.message, 120) : message(row.message, 160)) },
        { key: "decision", label: "Decision", render: (row) => h("a", { href: address(["decision", ...split(row.key)]), "aria-label": `Decision of ${row.key.slice(0, 80)}` }, "Explain") },
      ],
    }), more(data.pods.length, data.total, data.next, enlarge(context))),
  ];
}

function split(key) {
  const [namespace, ...rest] = key.split("/");
  return [namespace, rest.join("/")];
}
