// Two or more runs side by side: measures, maps, distributions, and the pods that moved with the cause.
import { address } from "../address.js";
import { histogram } from "../chart.js";
import { h, icon } from "../dom.js";
import { amount, count, fineShare, known, number, seconds } from "../format.js";
import { clusterMap, together } from "../map.js";
import { heading, nodeLink, panel, pluginLink, podLink, select } from "../pieces.js";
import { more, table } from "../table.js";
import { name, sentence, visible } from "../text.js";
import { colouring, colourings, lines } from "./clustermap.js";

const MAPS = 2;

export const compare = {
  title: () => "Compare",
  follows: true,
  async load(context) {
    const { ask, session, memory, params } = context;
    if (!session.capabilities.compare) return { absent: true };
    const ids = session.runs.map((run) => run.id);
    const shown = [params.get("a") || ids[0], params.get("b") || ids[1] || ids[0]];
    const [comparison, pods, ...maps] = await Promise.all([
      ask("/compare"), ask("/compare/pods", { limit: memory.limit || null }),
      ...shown.map((run) => ask("/map", { run }).catch((error) => ({ failed: error.message }))),
    ]);
    memory.together ||= together();
    return { ...comparison, pods, maps, shown };
  },
  render(context, data) {
    if (data.absent) return [heading("Compare", "There is one run here, and nothing to compare it with.")];
    const { session, memory, redraw, change } = context;
    const runs = data.runs.map((run) => (typeof run === "string" ? run : run.name));
    const label = (id) => visible(session.runs.find((run) => run.id === id)?.name || id, 40);
    const good = data.maps.filter((map) => !map.failed);
    const options = good.length ? colourings(good[0], session).filter(([key]) => !key.startsWith("score:")) : [];
    const chosen = memory.color || options[0]?.[0];
    const most = chosen === "pods" ? good.reduce((top, map) => map.pods.reduce((peak, value) => Math.max(peak, value), top), 1) : undefined;
    return [
      heading("Compare", [runs.map((run, index) => [index > 0 && " against ", h("strong", { key: index }, name(run, 40))]), `. ${count(data.moved.total, "pod")} moved.`]),
      panel("Measures", { class: "flush" }, measures(runs, data.measures.filter((row) => differs(row)), "measures", "Measures that differ"),
        data.measures.some((row) => !differs(row)) && h("details", { class: "numbers", key: "equal" }, h("summary", null, count(data.measures.filter((row) => !differs(row)).length, "equal measure")), measures(runs, data.measures.filter((row) => !differs(row)), "equal", "Equal measures"))),
      good.length > 0 && panel("Maps", { class: "map-panel", key: "maps", aside: h("div", { class: "row" },
        runs.length > MAPS && data.shown.map((id, index) => select(["A", "B"][index], id, session.runs.map((run) => [run.id, visible(run.name, 40)]), (value) => change({ [["a", "b"][index]]: value }), { class: "field inline" })),
        select("Colour", chosen, options, (value) => {
          memory.color = value;
          redraw();
        }, { class: "field inline" })) },
      h("div", { class: "pair" }, data.maps.map((map, index) => h("div", { key: index, class: "pair-part" }, h("h3", null, label(data.shown[index])), map.failed ? h("p", { class: "none" }, visible(map.failed, 200)) : one(context, map, chosen, most, label(data.shown[index]))))),
      h("div", { class: "map-legend" }, h("span", { class: "legend-title" }, colouring(good[0], chosen, most).title), colouring(good[0], chosen, most).legend, h("span", { class: "soft grow hint" }, "Both maps move, zoom and select together."))),
      data.distributions.length > 0 && h("div", { class: "columns even", key: "distributions" }, data.distributions.map((item) => panel(visible(item.name, 60), { key: item.name }, histogram({ key: item.name, label: `${visible(item.name, 60)} by run`, edges: item.edges, counts: item.counts, runs: runs.map((run) => visible(run, 30)), format: (value) => figure(value, item.unit) })))),
      panel("Moved pods", { class: "flush", key: "moved" },
        data.moved.causes.length > 0 && h("ul", { class: "tally padded" }, data.moved.causes.slice(0, 8).map((cause, index) => h("li", { key: index }, h("span", { class: "tally-count" }, number(cause.pods)), h("span", null, cause.plugin && [pluginLink(cause.plugin), " "], sentence(cause.text, 200))))),
        table({
          key: "pods", label: "Pods with another place", rows: data.pods.pods, total: data.pods.total, rowKey: (row) => row.key, empty: "Every pod has the same place in each run.",
          columns: [
            { key: "key", label: "Pod", render: (row) => podLink(row.key), sort: (row) => row.key },
            ...runs.map((run, index) => ({ key: `run ${index}`, label: name(run, 30), render: (row) => (row.places[index] ? nodeLink(row.places[index], 40) : "no node"), sort: (row) => row.places[index] || "" })),
            { key: "cause", label: "Cause", class: "grow", wide: true, render: (row) => (row.cause ? sentence(row.cause.text, 140) : "–") },
            { key: "decisions", label: "Decisions", wide: true, render: (row) => session.runs.slice(0, 2).map((run, index) => [index > 0 && " · ", h("a", { key: run.id, href: address(["decision", ...split(row.key)], { run: run.id }), "aria-label": `Decision of ${visible(row.key, 60)} in ${visible(run.name, 30)}` }, ["A", "B"][index])]) },
          ],
        }), more(data.pods.pods.length, data.pods.total, data.pods.next, () => {
          memory.limit = 1000;
          context.reload();
        })),
    ];
  },
};

function differs({ values }) {
  return values.some((value) => value !== values[0]);
}

function measures(runs, rows, key, label) {
  return table({
    key, label, rows, rowKey: (row) => row.name, empty: "All measures are equal.",
    columns: [
      { key: "name", label: "Measure", render: (row) => [h("span", { class: "measure" }, sentence(row.text || row.name, 80))] },
      ...runs.map((run, index) => ({ key: `run ${index}`, label: name(run, 30), numeric: true, render: (row) => [isBest(row, index) && h("span", { class: "best" }, icon("check"), h("span", { class: "hidden" }, "best: ")), figure(row.values[index], row.unit)], cell: (row) => ({ class: isBest(row, index) ? "is-best" : "" }) })),
      { key: "difference", label: "Difference", numeric: true, wide: true, render: (row) => difference(row) },
      rows.some((row) => known(row.significant)) && { key: "significant", label: "Certain", wide: true, render: (row) => (known(row.significant) ? (row.significant ? "yes" : "within chance") : "–") },
    ].filter(Boolean),
  });
}

function isBest({ best, values }, index) {
  return best.includes(index) && best.length < values.length;
}

function split(key) {
  const [namespace, ...rest] = key.split("/");
  return [namespace, rest.join("/")];
}

function one({ memory, go }, map, chosen, most, label) {
  const look = colouring(map, chosen, most);
  return clusterMap({ key: label, height: 340, names: map.names, group: map.group, groups: map.groups, shape: map.by, colours: look.colours, marked: null, together: memory.together, text: look.text, lines: (index) => lines(map, look, index), label: `Map of ${number(map.names.length)} nodes of ${label}, coloured by ${look.title}`, instructions: "Arrow keys move between nodes in both maps, Enter opens a node. The view Cluster map has a table of the same figures.", onOpen: (index) => go(address(["node", map.names[index]])) });
}

function figure(value, unit) {
  if (unit === "share" || unit === "%") return fineShare(unit === "%" && value !== null ? value / 100 : value);
  if (unit === "s" || unit === "seconds") return seconds(value);
  if (unit === "cores" || unit === "bytes") return amount(value, unit);
  return unit && unit !== "count" && unit !== "cost" ? `${number(value)} ${visible(unit, 20)}` : number(value);
}

function difference({ values, unit }) {
  const [first, second] = values;
  if (values.length !== 2 || first === null || second === null || first === undefined || second === undefined) return "–";
  const by = second - first;
  return by === 0 ? "none" : `${by > 0 ? "+" : "−"}${unit === "share" || unit === "%" ? `${number(Math.round(Math.abs(by) * (unit === "%" ? 10 : 1000)) / 10)} points` : figure(Math.abs(by), unit)}`;
}
