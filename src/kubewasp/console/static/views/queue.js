// The queue by part: active, backoff, unschedulable, waiting in Permit, gated; why, and until when.
import { changed } from "../address.js";
import { embedded } from "../answers.js";
import { h } from "../dom.js";
import { age, count, number, until } from "../format.js";
import { heading, nodeLink, panel, pluginLink, podLink, tabs } from "../pieces.js";
import { more, table } from "../table.js";
import { sentence } from "../text.js";

const parts = [
  ["active", "Active", "Next in line, in this order."],
  ["backoff", "Backoff", "Tried and failed; each waits out its pause."],
  ["unschedulable", "Unschedulable", "No node fits; a change in the cluster brings them back."],
  ["waiting", "Waiting in Permit", "Have a node and wait for a plugin's permission."],
  ["gated", "Gated", "Not to be scheduled yet: a scheduling gate or a plugin holds them."],
];

export const queue = {
  title: () => "Queue",
  follows: true,
  async load({ ask, run, at, params, memory }) {
    const wanted = params.get("part") || "";
    const limit = memory.limit || null;
    const found = { ...(await ask("/queue", { run, at, part: wanted || memory.part || "active", limit })) };
    if (!wanted && !found.counts[memory.part || "active"]) {
      const other = parts.find(([key]) => found.counts[key] > 0);
      if (other) {
        memory.part = other[0];
        return { ...(await ask("/queue", { run, at, part: memory.part, limit })), part: memory.part };
      }
    }
    if (embedded) found.pods = found.pods.filter((row) => row.part === (wanted || memory.part || "active"));
    return { ...found, part: wanted || memory.part || "active" };
  },
  render(context, data) {
    const { now, memory } = context;
    const [, label, about] = parts.find(([key]) => key === data.part) || parts[0];
    const all = parts.reduce((sum, [key]) => sum + (data.counts[key] || 0), 0);
    const timed = data.pods.some((row) => row.until);
    return [
      heading("Queue", all ? `${count(all, "pod")} on the way to a node.` : "The queue is empty."),
      tabs("Parts of the queue", parts.map(([key, text]) => ({ key, label: text, count: number(data.counts[key] || 0), current: key === data.part, href: changed({ part: key }) }))),
      panel(null, { class: "flush", key: "pods" }, h("p", { class: "panel-note" }, about), table({
        key: data.part, label: `${label} pods`, rows: data.pods, total: data.total, rowKey: (row) => row.key, empty: `No pods are ${label.toLowerCase()}.`,
        columns: [
          { key: "position", label: "#", numeric: true, class: "narrow", render: (row, index) => number((row.position ?? index) + 1) },
          { key: "key", label: "Pod", render: (row) => podLink(row.key) },
          { key: "why", label: "Why", class: "grow", render: (row) => (row.why ? sentence(row.why, 160) : "–") },
          { key: "plugin", label: "Plugin", wide: true, render: (row) => (row.plugin ? pluginLink(row.plugin) : "–"), sort: (row) => row.plugin },
          data.pods.some((row) => row.node) && { key: "node", label: "Node", render: (row) => nodeLink(row.node, 40), sort: (row) => row.node },
          timed && { key: "until", label: "Until", numeric: true, render: (row) => (row.until ? until(row.until, now) : "–"), sort: (row) => Date.parse(row.until) },
          { key: "since", label: "Since", numeric: true, wide: timed, render: (row) => age(row.since, now), sort: (row) => -Date.parse(row.since) },
          { key: "attempts", label: "Attempts", numeric: true, wide: true, render: (row) => number(row.attempts), sort: (row) => row.attempts },
          { key: "priority", label: "Priority", numeric: true, wide: true, render: (row) => number(row.priority), sort: (row) => row.priority },
        ].filter(Boolean),
      }), more(data.pods.length, data.total, data.next, () => {
        memory.limit = 1000;
        context.reload();
      })),
    ];
  },
};
