// Overview: pods, attempts, latency, plugins' time, use of resources, and what changed last.
import { address } from "../address.js";
import { lineChart, meter, sparkline } from "../chart.js";
import { h } from "../dom.js";
import { amount, count, known, moment, number, rate, resourceName, seconds, share, stamps } from "../format.js";
import { changeList, heading, panel, sign } from "../pieces.js";
import { table } from "../table.js";
import { name } from "../text.js";

export const overview = {
  title: () => "Overview",
  follows: true,
  load: ({ ask, run, at }) => ask("/overview", { run, at }),
  render({ session, at }, data) {
    const { pods, nodes, attempts, latency, series } = data;
    const units = Object.fromEntries(session.resources.map((item) => [item.name, item.unit]));
    const ticks = stamps(series?.time || []);
    const total = pods.total || 0;
    const tile = (label, value, more, href, values) => h("li", { key: label }, h(href ? "a" : "div", { class: "tile", href },
      h("span", { class: "tile-label" }, label), h("span", { class: "tile-value" }, value), h("span", { class: "tile-more" }, more), sparkline(values)));
    return [
      heading("Overview", session.capabilities.timeline && at === null ? ["At the end, ", moment(data.time), ". ", h("a", { key: "timeline", href: address(["timeline"]) }, "Timeline"), ""] : data.time && `As of ${moment(data.time)}`),
      h("ul", { class: "tiles" },
        tile("Pods placed", number(pods.placed), total ? `${share(pods.placed / total)} of ${number(total)}` : "", null, series?.placed),
        tile("Pending", number(pods.pending), [pods.waiting ? `${number(pods.waiting)} waiting` : null, pods.gated ? `${number(pods.gated)} gated` : null].filter(Boolean).join(", ") || "none waiting or gated", address(["pending"]), series?.pending),
        tile("Failing", number(pods.failing), pods.failing ? "errors in their last attempt" : "no errors", address(["queue"])),
        tile("Nodes in use", number(nodes.used), `of ${number(nodes.total)}${nodes.unschedulable ? `, ${number(nodes.unschedulable)} unschedulable` : ""}`, address(["map"])),
        tile("Scheduling attempt", seconds(latency?.p50), `p99 ${seconds(latency?.p99)}`, address(["plugins"])),
        data.rate !== null && data.rate !== undefined ? tile("Rate", rate(data.rate), "pods scheduled", null, series?.rate) : null),
      h("div", { class: "columns" },
        panel("Pods over time", { class: "wide-panel" }, ticks.length > 1
          ? lineChart({ key: "pods", label: "Pods over time", ticks, format: number, height: 200, series: [{ name: "placed", values: series.placed }, { name: "pending", values: series.pending }] })
          : h("p", { class: "none" }, "No history yet.")),
        panel("Use of resources", null, h("ul", { class: "meters" }, data.utilisation.map((item) => h("li", { key: item.resource },
          h("span", { class: "meter-name" }, name(resourceName(item.resource), 30)), meter(item.share, [h("strong", null, share(item.share)), ` ${amount(item.requested, units[item.resource])} of ${amount(item.allocatable, units[item.resource])}`])))),
          h("p", { class: "small" }, "Requested by pods on nodes, of what nodes can give.")),
        panel("Time of plugins", { class: "wide-panel", aside: h("a", { href: address(["plugins"]) }, "All plugins") }, table({
          key: "plugins", label: "Time of plugins", rows: data.plugins, rowKey: (row) => `${row.name} ${row.point}`, empty: "No calls yet.",
          columns: [
            { key: "name", label: "Plugin", render: (row) => h("a", { href: address(["plugins"], { plugin: row.name }) }, name(row.name, 40)), sort: (row) => row.name },
            { key: "point", label: "Point", render: (row) => row.point, sort: (row) => row.point, wide: true },
            { key: "calls", label: "Calls", numeric: true, render: (row) => number(row.calls), sort: (row) => row.calls, wide: true },
            { key: "seconds", label: "Total", numeric: true, render: (row) => seconds(row.seconds), sort: (row) => row.seconds },
            ...(data.plugins.some((row) => known(row.p50)) ? [{ key: "p50", label: "p50", numeric: true, render: (row) => seconds(row.p50), sort: (row) => row.p50, wide: true },
              { key: "p99", label: "p99", numeric: true, render: (row) => seconds(row.p99), sort: (row) => row.p99 }] : []),
          ],
        })),
        panel("Attempts", null, h("dl", { class: "facts tall" }, Object.entries({ scheduled: attempts.scheduled, unschedulable: attempts.unschedulable, error: attempts.error }).map(([kind, value]) =>
          h("div", { key: kind }, h("dt", null, sign(kind), kind), h("dd", null, number(value)))))),
        panel("Last changes", { class: "full-panel" }, data.recent.length
          ? changeList(data.recent.slice(0, 14))
          : h("p", { class: "none" }, `No changes yet; ${count(total, "pod")} known.`))),
    ];
  },
};
