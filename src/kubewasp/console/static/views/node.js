// One node: what it has, what is requested of it, and its pods.
import { address } from "../address.js";
import { meter } from "../chart.js";
import { h, icon } from "../dom.js";
import { age, amount, moment, number, resourceName, share } from "../format.js";
import { badge, facts, heading, panel, podLink } from "../pieces.js";
import { labels } from "./pod.js";
import { more, table } from "../table.js";
import { name, sentence } from "../text.js";

export const node = {
  title: ({ parts }) => `Node ${parts[0] || ""}`,
  follows: true,
  load: ({ ask, run, at, parts, memory }) => ask(`/nodes/${parts[0]}`, { run, at, limit: memory.limit || null }),
  render(context, data) {
    const { session, now, memory } = context;
    const units = Object.fromEntries(session.resources.map((item) => [item.name, item.unit]));
    const main = data.resources.map((item) => item.resource).filter((item) => item !== "pods").slice(0, 3);
    return [
      heading(name(data.name, 120), `${number(data.total)} ${data.total === 1 ? "pod" : "pods"}`, h("a", { key: "map", class: "button", href: address(["map"], { node: data.name }) }, "Show on the map", icon("right"))),
      h("div", { class: "columns" },
        panel("Resources", { class: "wide-panel" }, h("ul", { class: "meters" }, data.resources.map((item) => {
          const used = item.allocatable ? item.requested / item.allocatable : null;
          return h("li", { key: item.resource }, h("span", { class: "meter-name" }, name(resourceName(item.resource), 30)), meter(used, [h("strong", null, share(used)), ` ${amount(item.requested, units[item.resource])} of ${amount(item.allocatable, units[item.resource])}`]));
        }))),
        panel("State", null, facts([
          ["New pods", data.unschedulable ? badge("unschedulable") : badge("accepted", "good")],
          ["Created", data.created && `${moment(data.created)} (${age(data.created, now)})`],
          ["Taints", data.taints?.length ? h("ul", { class: "plain-list" }, data.taints.map((text, index) => h("li", { key: index }, sentence(text, 200)))) : "none"],
        ])),
        panel("Pods", { class: "full-panel" }, table({
          key: "pods", label: "Pods of this node", rows: data.pods, total: data.total, rowKey: (row) => row.key, empty: "No pods.",
          columns: [
            { key: "key", label: "Pod", render: (row) => podLink(row.key), sort: (row) => row.key },
            { key: "priority", label: "Priority", numeric: true, wide: true, render: (row) => number(row.priority), sort: (row) => row.priority },
            ...main.map((resource) => ({ key: `resource ${resource}`, label: name(resourceName(resource), 24), numeric: true, render: (row) => amount(requestOf(row, resource), units[resource]), sort: (row) => requestOf(row, resource) })),
            { key: "since", label: "Here for", numeric: true, wide: true, render: (row) => age(row.since, now), sort: (row) => -Date.parse(row.since) },
          ],
        }), more(data.pods.length, data.total, data.next, () => {
          memory.limit = 1000;
          context.reload();
        })),
        panel("Labels", { class: "full-panel" }, labels(data.labels))),
    ];
  },
};

function requestOf(row, resource) {
  const found = row.requests;
  if (Array.isArray(found)) return found.find((item) => item.resource === resource)?.amount ?? 0;
  return found?.[resource] ?? 0;
}
