// The cluster map: nodes by zone or label, coloured by use, namespace, or a plugin's score for a pod.
import { nodeAddress } from "../address.js";
import { h } from "../dom.js";
import { number, resourceName, share } from "../format.js";
import { clusterMap, hueLegend, rampLegend } from "../map.js";
import { colour, hue, HUES, ramp } from "../palette.js";
import { facts, heading, nodeLink, panel, select } from "../pieces.js";
import { table } from "../table.js";
import { name, visible } from "../text.js";

export const map = {
  title: () => "Cluster map",
  follows: true,
  async load({ ask, run, at, params, session }) {
    const by = params.get("by");
    const found = await ask("/map", { run, at, by });
    const coloured = params.get("color") || "";
    let scores = null;
    if (coloured.startsWith("score:") && params.get("pod")) {
      const answer = await ask("/map/scores", { run, at, by, pod: params.get("pod"), plugin: coloured.slice(6) });
      scores = align(found.names, answer);
    }
    return { ...found, scores, resources: found.resources, session };
  },
  render(context, data) {
    const { params, change, memory, redraw, go, session } = context;
    const options = colourings(data, session);
    const chosen = params.get("color") || options[0][0];
    const look = colouring(data, chosen);
    const pick = memory.node === undefined ? params.get("node") : memory.node;
    const selected = pick ? data.names.indexOf(pick) : -1;
    const marked = data.unschedulable.some(Boolean) ? data.unschedulable : null;
    const isScore = chosen.startsWith("score:");
    return [
      heading("Cluster map", `${number(data.names.length)} nodes in ${number(data.groups.length)} ${data.groups.length === 1 ? "group" : "groups"}${data.truncated ? "; more are not shown" : ""}.`),
      h("div", { class: "toolbar", key: "toolbar" },
        select("Group by", data.by, [...new Set([data.by, "zone", ...session.labels])].map((key) => [key, visible(key, 50)]), (value) => change({ by: value })),
        select("Colour", isScore ? chosen : chosen, options, (value) => change({ color: value })),
        isScore && h("label", { class: "field", key: "pod" }, h("span", null, "Pod (namespace/name)"), h("input", { type: "text", value: memory.pod ?? params.get("pod") ?? "", spellcheck: "false", autocomplete: "off", onchange: (event) => {
          memory.pod = event.target.value;
          change({ pod: event.target.value.trim() || null });
        } })),
        h("label", { class: "field" }, h("span", null, "Find a node"), h("input", { type: "search", value: memory.find || "", spellcheck: "false", autocomplete: "off", oninput: (event) => {
          memory.find = event.target.value;
          const text = memory.find.trim().toLowerCase();
          const found = text ? data.names.findIndex((item) => item.toLowerCase().includes(text)) : -1;
          memory.node = found >= 0 ? data.names[found] : null;
          redraw();
        } }))),
      panel(null, { class: "map-panel", key: "map" },
        clusterMap({
          key: "map", names: data.names, group: data.group, groups: data.groups, shape: data.by, colours: look.colours, marked,
          text: look.text, lines: (index) => lines(data, look, index), selected,
          label: `Map of ${number(data.names.length)} nodes by ${visible(data.by, 40)}, coloured by ${look.title}`,
          onSelect(index) {
            memory.node = index >= 0 ? data.names[index] : null;
            redraw();
          },
          onOpen: (index) => go(nodeAddress(data.names[index])),
        }),
        h("div", { class: "map-legend" }, h("span", { class: "legend-title" }, look.title), look.legend, marked && h("span", { class: "legend-mark" }, h("span", { class: "swatch slashed", "aria-hidden": "true" }), "unschedulable"),
          h("span", { class: "soft grow hint" }, "Drag to move, Ctrl and wheel to zoom, click for details, double click to open."))),
      selected >= 0 && panel(["Node ", nodeLink(data.names[selected])], { key: "node", class: "picked" }, facts(lines(data, look, selected).map(([label, value]) => [label, visible(value, 80)]))),
      panel("Nodes", { key: "table", class: "flush" }, table({
        key: "nodes", label: "Nodes of the map", rows: data.names.map((_, index) => index), rowKey: (row) => row,
        isSelected: (row) => row === selected,
        columns: [
          { key: "name", label: "Node", render: (row) => nodeLink(data.names[row]), sort: (row) => data.names[row] },
          { key: "group", label: visible(data.by, 30), wide: true, render: (row) => name(data.groups[data.group[row]]?.name || "none", 40), sort: (row) => data.groups[data.group[row]]?.name },
          { key: "value", label: look.title, numeric: true, render: (row) => look.text(row), sort: look.sort },
          ...Object.keys(data.resources).filter((key) => `resource:${key}` !== chosen).slice(0, 3).map((key) => ({ key: `resource ${key}`, label: name(resourceName(key), 24), numeric: true, wide: true, render: (row) => share(data.resources[key][row]), sort: (row) => data.resources[key][row] })),
          { key: "pods", label: "Pods", numeric: true, render: (row) => number(data.pods[row]), sort: (row) => data.pods[row] },
          { key: "state", label: "New pods", wide: true, render: (row) => (data.unschedulable[row] ? "not accepted" : "accepted"), sort: (row) => data.unschedulable[row] },
        ],
      })),
    ];
  },
};

function align(names, answer) {
  if (answer.names.length === names.length && answer.names[0] === names[0] && answer.names.at(-1) === names.at(-1)) return answer.values;
  const places = new Map(answer.names.map((key, index) => [key, index]));
  return names.map((key) => answer.values[places.get(key)] ?? null);
}

export function colourings(data, session) {
  const scoring = [...new Set(session.profiles.flatMap((profile) => profile.plugins.filter((plugin) => plugin.points.some((point) => point.toLowerCase() === "score")).map((plugin) => plugin.name)))];
  return [
    ...Object.keys(data.resources).map((key) => [`resource:${key}`, `${visible(resourceName(key), 40)} requested`]),
    ["pods", "Number of pods"], ["namespace", "Namespace with most requests"],
    ...(session.capabilities.decisions ? [["score:total", "Score of a pod: total"], ...scoring.map((key) => [`score:${key}`, `Score of a pod: ${visible(key, 40)}`])] : []),
  ];
}

// Colours, text and order of the nodes of a map for one choice.
export function colouring(data, chosen, most = undefined) {
  const table = ramp();
  const none = colour("--neutral-cell");
  if (chosen === "namespace") {
    const counts = new Map();
    data.namespace.forEach((index) => counts.set(index, (counts.get(index) || 0) + 1));
    const order = [...counts].filter(([index]) => index >= 0).sort((first, second) => second[1] - first[1]).map(([index]) => index);
    const rank = new Map(order.map((index, place) => [index, place]));
    const entries = order.slice(0, HUES).map((index, place) => [visible(data.namespaces[index], 30), hue(place)]);
    if (order.length > HUES) entries.push(["others", hue(HUES)]);
    return {
      title: "namespace", colours: data.namespace.map((index) => (index < 0 ? none : hue(rank.get(index)))), text: (row) => (data.namespace[row] < 0 ? "–" : visible(data.namespaces[data.namespace[row]], 20)),
      sort: (row) => data.namespaces[data.namespace[row]] || "", legend: hueLegend([...entries, ["no pods", none]]),
    };
  }
  const key = chosen.replace(/^resource:/, "");
  const isShare = chosen.startsWith("resource:");
  const values = isShare ? data.resources[key] || [] : chosen === "pods" ? data.pods : data.scores || data.names.map(() => null);
  let top = most ?? (isShare ? 1 : 1);
  if (!isShare && most === undefined) for (const value of values) if (value > top) top = value;
  const title = isShare ? `${visible(resourceName(key), 40)} requested` : chosen === "pods" ? "pods" : `score: ${visible(chosen.slice(6), 40)}`;
  return {
    title, colours: values.map((value) => (value === null || value === undefined || value < 0 ? none : table[Math.max(0, Math.min(255, Math.round((value / top) * 255)))])),
    text: (row) => (isShare ? share(values[row]) : number(values[row])), sort: (row) => values[row],
    legend: [rampLegend(table, isShare ? "0 %" : "0", isShare ? "100 %" : number(top)), values.some((value) => value === null || value < 0) && hueLegend([["none", none]])],
  };
}

export function lines(data, look, index) {
  return [
    [look.title, look.text(index)],
    ...Object.entries(data.resources).filter(([key]) => `${visible(resourceName(key), 40)} requested` !== look.title).slice(0, 4).map(([key, values]) => [visible(resourceName(key), 30), share(values[index])]),
    ["Pods", number(data.pods[index])],
    [visible(data.by, 30), visible(data.groups[data.group[index]]?.name || "none", 40)],
    ...(data.unschedulable[index] ? [["New pods", "not accepted"]] : []),
  ];
}

