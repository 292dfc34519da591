// One pod's decision: every node against every plugin, with other weights and without plugins at once.
import { address, decisionAddress, podAddress } from "../address.js";
import { embedded, pages } from "../answers.js";
import { h, icon } from "../dom.js";
import { known, moment, number } from "../format.js";
import { heatMap } from "../heat.js";
import { colour, css, ink, ramp } from "../palette.js";
import { badge, choices, decisionLink, facts, heading, nodeLink, note, panel, podLink } from "../pieces.js";
import { table } from "../table.js";
import { message, name, sentence, visible } from "../text.js";

const FEASIBLE = 0;
const REJECTED = 1;
const PAGE = 5000;
const MOST = 20_000;

export const decision = {
  title: ({ parts }) => (parts[1] ? `Decision of ${parts[1]}` : "Decision"),
  follows: false, // a decision is that of a moment: a newer one is offered, not pushed
  async load(context) {
    const { ask, run, at, parts, params, signal } = context;
    if (!parts[1]) {
      const [groups, overview] = await Promise.all([ask("/pending", { run, at }), ask("/overview", { run, at })]);
      return { picker: true, groups: groups.groups, recent: overview.recent.filter((item) => item.pod) };
    }
    const path = `/pods/${parts[0]}/${parts[1]}/decision`;
    const query = { run, at, limit: PAGE };
    for (const key of ["weights", "without", "sort", "only"]) query[key] = params.get(key);
    let joined = null;
    const rest = await pages(path, query, MOST, (page) => {
      joined = joined ? join(joined, page) : page;
      return page.nodes.names.length;
    }, signal);
    return { ...joined, cut: Boolean(rest), version: ++versions };
  },
  render(context, data) {
    return data.picker ? picker(context, data) : whole(context, data);
  },
};

let versions = 0;

function join(first, page) {
  const nodes = { ...first.nodes };
  const offset = first.reasons.length;
  const later = (index) => (index >= 0 ? index + offset : index);
  const more = page.nodes;
  for (const key of ["names", "status", "rejected_by", "total_score", "hints"]) if (nodes[key] && more[key]) nodes[key] = nodes[key].concat(more[key]);
  const same = JSON.stringify(first.reasons) === JSON.stringify(page.reasons);
  nodes.reason = nodes.reason.concat(same ? more.reason : more.reason.map(later));
  nodes.objections = nodes.objections.concat(same ? more.objections : more.objections.map((list) => list.map(([plugin, reason]) => [plugin, later(reason)])));
  nodes.scores = Object.fromEntries(Object.keys(nodes.scores).map((plugin) => [plugin, Object.fromEntries(["raw", "normalized", "weighted"].map((kind) => [kind, nodes.scores[plugin][kind].concat(more.scores[plugin]?.[kind] || more.names.map(() => null))]))]));
  return { ...first, nodes, reasons: same ? first.reasons : first.reasons.concat(page.reasons) };
}

function picker({ memory, redraw, go }, data) {
  return [
    heading("Decision", "Why a pod is where it is, or nowhere: every node against every plugin."),
    panel("Choose a pod", { class: "narrow-panel" }, h("form", { class: "inline-form", onsubmit: (event) => {
      event.preventDefault();
      const text = (memory.text || "").trim();
      if (text.includes("/")) go(decisionAddress(text));
      else if (text) go(address(["search"], { q: text }));
    } }, h("label", { class: "field grow" }, h("span", null, "Namespace/name, or a part of a name"), h("input", { type: "text", value: memory.text || "", spellcheck: "false", autocomplete: "off", oninput: (event) => {
      memory.text = event.target.value;
      redraw();
    } })), h("button", { class: "button primary" }, "Open"))),
    h("div", { class: "columns" },
      panel("Pending pods", { class: "wide-panel" }, data.groups.length ? h("ul", { class: "plain-list spaced" }, data.groups.slice(0, 8).map((group) => h("li", { key: group.id }, group.examples.slice(0, 1).map((key) => decisionLink(key)), h("span", { class: "soft block" }, sentence(group.reason, 140))))) : h("p", { class: "none" }, "No pod is pending.")),
      panel("Decided lately", null, data.recent.length ? h("ul", { class: "plain-list" }, [...new Set(data.recent.map((item) => item.pod))].slice(0, 10).map((key) => h("li", { key }, decisionLink(key)))) : h("p", { class: "none" }, "None yet."))),
  ];
}

function whole(context, data) {
  const { parts, memory, redraw } = context;
  const { nodes, plugins, margin } = data;
  const key = `${parts[0]}/${parts[1]}`;
  const inspect = (index) => {
    memory.node = nodes.names[index];
    memory.jump = { key: index };
    redraw();
  };
  const inspected = Math.max(0, memory.node === undefined ? 0 : nodes.names.indexOf(memory.node));
  const scored = plugins.filter((plugin) => nodes.scores[plugin.name] && !plugin.removed);
  const kind = memory.kind || "normalized";
  // Plugins that tell nodes apart first.
  const isFlat = ({ name: plugin }) => new Set(nodes.scores[plugin].raw.filter(known)).size < 2;
  scored.sort((first, second) => isFlat(first) - isFlat(second));
  const bounds = Object.fromEntries(scored.map((plugin) => [plugin.name, range(nodes.scores[plugin.name][kind])]));
  return [
    heading(name(parts[1], 120), ["Decision in namespace ", name(parts[0], 60), data.basis === "recorded" ? ", as recorded" : "", data.time ? `, ${moment(data.time)}` : ""],
      h("a", { key: "pod", class: "button", href: podAddress(key) }, "Pod", icon("right"))),
    h("div", { class: "verdict", key: "verdict" }, badge(data.result), h("p", null, verdict(data)), data.message && h("p", { class: "soft" }, message(data.message))),
    data.notes?.map((text, index) => note(sentence(text), h("span", { key: index }))),
    data.sample && !String(data.sample).startsWith("all ") && note("Nodes asked: ", sentence(data.sample)),
    h("div", { class: "with-aside" },
      h("div", { class: "main-part" },
        panel("Nodes × plugins", { aside: h("div", { class: "row" }, choices("Scores", kind, [["raw", "Raw"], ["normalized", "Normalized"], ["weighted", "Weighted"]], (value) => {
          memory.kind = value;
          redraw();
        }), !embedded && choices("Nodes", context.params.get("only") || "all", [["all", "All"], ["feasible", "Feasible"], ["rejected", "Rejected"]], (value) => context.change({ only: value === "all" ? null : value }))) },
        strip(context, data, scored, kind, bounds, inspected, inspect),
        grid(context, data, scored, kind, bounds, inspected, inspect),
        data.cut && h("p", { class: "more" }, `The best ${number(nodes.names.length)} of ${number(nodes.total)} nodes.`))),
      h("div", { class: "aside" }, whatIf(context, data), nodes.names.length > 0 && inspector(data, inspected), rejections(data))),
    data.preemption?.length > 0 && preemption(data),
    data.logs?.some((log) => log.lines.length) && panel("Logs of guests", { key: "logs" }, data.logs.filter((log) => log.lines.length).map((log) => h("div", { key: log.plugin, class: "log" }, h("h3", null, name(log.plugin)),
      h("div", { class: "log-lines", tabindex: 0, role: "region", "aria-label": `Log of ${visible(log.plugin, 60)}` }, h("ol", null, log.lines.slice(0, 200).map((line, index) => h("li", { key: index }, sentence(line, 1000)))))))),
  ];

  function verdict({ result, node }) {
    if (margin) {
      return [nodeLink(margin.winner), " wins with ", h("strong", null, number(margin.total)), " points", margin.runner_up ? [margin.total === margin.runner_up_total ? ", equal to " : [", ", h("strong", null, number(margin.total - margin.runner_up_total)), " ahead of "], nodeLink(margin.runner_up), margin.total === margin.runner_up_total ? "" : ` (${number(margin.runner_up_total)})`, margin.by ? [", most of it from ", name(margin.by, 40)] : ""] : ", the only feasible node", ". ", h("span", { class: "soft" }, `${number(nodes.feasible)} of ${number(nodes.total)} nodes are feasible.`)];
    }
    if (node) return ["On ", nodeLink(node), ". ", h("span", { class: "soft" }, `${number(nodes.feasible)} of ${number(nodes.total)} nodes are feasible.`)];
    const would = data.nominated_node ? [" Nominated: ", nodeLink(data.nominated_node), "."] : "";
    return [result === "gated" ? "Not tried yet." : `None of ${number(nodes.total)} nodes is feasible.`, would];
  }
}

function range(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || value === undefined) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low === Infinity ? [0, 1] : [Math.min(low, 0), Math.max(high, low >= 0 && high <= 100 ? 100 : high, 1)];
}

function shade(value, [low, high]) {
  if (value === null || value === undefined) return null;
  return ramp()[Math.max(0, Math.min(255, Math.round(((value - low) / (high - low || 1)) * 255)))];
}

function objection(data, index, plugin) {
  return data.nodes.objections[index]?.find(([place]) => data.plugins[place]?.name === plugin);
}

function statusOf(data, index) {
  const status = data.nodes.status[index];
  return status === FEASIBLE ? "feasible" : status === REJECTED ? "rejected" : "skipped";
}

function reasonOf(data, index) {
  const own = data.nodes.reason[index];
  if (own >= 0) return data.reasons[own];
  const first = data.nodes.objections[index]?.[0];
  return first ? data.reasons[first[1]] : "";
}

function strip(context, data, scored, kind, bounds, inspected, inspect) {
  const { nodes, plugins } = data;
  const filters = plugins.filter((plugin) => !plugin.removed && !nodes.scores[plugin.name] && nodes.objections.some((list) => list.some(([place]) => plugins[place] === plugin)));
  const rows = [...filters, ...scored];
  if (!rows.length || nodes.names.length < 2) return null;
  const byPlugin = new Map(rows.map((plugin, index) => [plugins.indexOf(plugin), index]));
  const rejected = nodes.objections.map((list) => new Set(list.map(([place]) => byPlugin.get(place))));
  const bad = colour("--rejected");
  const neutral = colour("--neutral-cell");
  const totals = range(nodes.total_score);
  return h("div", { class: "strip", key: "strip" },
    heatMap({
      label: `Heat map of ${number(nodes.names.length)} nodes and ${rows.length} plugins, the best node first`,
      rows: [...rows.map((plugin) => visible(plugin.name, 40)), "Total"],
      columns: nodes.names.length,
      version: `${data.version} ${kind}`,
      rejected: (row, column) => rejected[column].has(row),
      cell(row, column) {
        if (row === rows.length) return shade(nodes.total_score[column], totals);
        if (rejected[column].has(row)) return bad;
        if (row < filters.length) return nodes.status[column] > REJECTED ? null : neutral;
        return shade(nodes.scores[rows[row].name][kind][column], bounds[rows[row].name]);
      },
      title: (column) => visible(nodes.names[column], 60),
      lines: (column) => [["Status", statusOf(data, column)], ...(nodes.total_score[column] === null ? [] : [["Total", number(nodes.total_score[column])]]),
        ...rows.filter((plugin, row) => rejected[column].has(row) || (row >= filters.length && nodes.scores[plugin.name][kind][column] !== null)).map((plugin) => {
          const found = objection(data, column, plugin.name);
          return [visible(plugin.name, 40), found ? `rejected: ${visible(data.reasons[found[1]], 80)}` : number(nodes.scores[plugin.name][kind][column])];
        })],
      selected: inspected,
      onSelect: inspect,
      onOpen(index) {
        context.memory.jump = { key: index, focus: true };
        context.redraw();
      },
    }),
    h("div", { class: "strip-legend" }, h("span", null, "lower"), h("span", { class: "ramp", "aria-hidden": "true", style: { background: `linear-gradient(90deg, ${[0, 64, 128, 192, 255].map((index) => css(ramp()[index])).join(", ")})` } }), h("span", null, "higher"),
      h("span", { class: "swatch crossed", "aria-hidden": "true" }), h("span", null, "rejected"), h("span", { class: "soft" }, nodes.feasible ? "Nodes from left to right, the best first" : "Nodes from left to right, those with the fewest objections first")));
}

function grid(context, data, scored, kind, bounds, inspected, inspect) {
  const { nodes } = data;
  const rows = nodes.names.map((_, index) => index);
  const sorted = { key: context.params.get("sort") || "total", descending: (context.params.get("sort") || "total") !== "name" };
  return table({
    key: "nodes", label: "Nodes with the scores of plugins", class: "scores", rows, total: nodes.total, rowKey: (row) => row, jump: context.memory.jump,
    isSelected: (row) => row === inspected, onOpen: (row) => inspect(row), onActive: (row) => inspect(row), sorted,
    onSort: (key) => context.change({ sort: key === "total" ? null : key }),
    empty: "No nodes.",
    columns: [
      { key: "name", label: "Node", class: "node-name", sortable: !embedded, render: (row) => name(nodes.names[row], 48) },
      { key: "status", label: "Status", render: (row) => [h("span", { class: `sign sign-${["good", "bad", "plain"][nodes.status[row]]}` }, icon(["check", "cross", "dot"][nodes.status[row]])), statusOf(data, row), nodes.status[row] === REJECTED && h("span", { class: "soft" }, ": ", sentence(reasonOf(data, row), 44))] },
      { key: "total", label: "Total", numeric: true, sortable: !embedded, render: (row) => h("strong", null, number(nodes.total_score[row])) },
      ...scored.map((plugin) => ({
        key: plugin.name, label: name(plugin.name, 22), title: visible(plugin.name), numeric: true, sortable: !embedded, class: "score",
        render: (row) => (objection(data, row, plugin.name) ? "×" : number(nodes.scores[plugin.name][kind][row])),
        cell(row) {
          const found = shade(nodes.scores[plugin.name][kind][row], bounds[plugin.name]);
          return found ? { style: { "background-color": css(found), color: ink(found) } } : {};
        },
      })),
    ],
  });
}

const deciding = new Set(["prefilter", "filter", "postfilter", "score"]);

function has(plugin, point) {
  return plugin.points.some((item) => item.toLowerCase() === point);
}

function whatIf(context, data) {
  const weights = new Map((context.params.get("weights") || "").split(",").filter(Boolean).map((item) => item.split(":")));
  const without = new Set((context.params.get("without") || "").split(",").filter(Boolean));
  const write = (extra) => context.change({
    weights: [...weights].map(([plugin, weight]) => `${plugin}:${weight}`).join(",") || null,
    without: [...without].join(",") || null, ...extra,
  }, { replace: true, delay: 150 });
  const is = weights.size > 0 || without.size > 0;
  const answer = data.what_if;
  // Plugins that can change a decision: those with scores first.
  const taking = data.plugins.filter((plugin) => plugin.points.some((point) => deciding.has(point.toLowerCase())));
  taking.sort((first, second) => has(second, "score") - has(first, "score"));
  return panel("What if", { key: "what-if", aside: is && h("button", { type: "button", class: "button small", onclick: () => context.change({ weights: null, without: null }) }, "Reset") },
    h("p", { class: `outcome ${answer?.changed ? "changed" : ""}`, role: "status" }, embedded ? "A file shows what was; kubewasp console computes what would be." : !is || !answer ? "Change a weight, or switch a plugin off." : answer.changed
      ? [icon("alert"), " ", answer.node ? ["Now ", h("strong", null, name(answer.node, 40)), answer.total === null ? "" : ` (${number(answer.total)})`] : "Now no node", answer.node_before ? [" instead of ", name(answer.node_before, 40), answer.total_before === null ? "" : ` (${number(answer.total_before)})`] : [", before no node"], "."]
      : [icon("check"), " The same node", answer.node ? [": ", name(answer.node, 40)] : [": none"], "."]),
    h("div", { class: "table-box plain" }, h("table", { class: "weights" }, h("caption", { class: "hidden" }, "Plugins with their weights"), h("thead", null, h("tr", null, h("th", { scope: "col" }, "Plugin"), h("th", { scope: "col", class: "numeric" }, "Weight"), h("th", { scope: "col" }, "On"))),
      h("tbody", null, taking.map((plugin) => {
        const scores = has(plugin, "score");
        const label = visible(plugin.name, 60);
        return h("tr", { key: plugin.name, class: without.has(plugin.name) ? "off" : "" },
          h("th", { scope: "row" }, name(plugin.name, 40), h("span", { class: "soft block" }, [plugin.origin === "wasm" ? "wasm · " : plugin.origin === "python" ? "Python · " : "", plugin.points.filter((point) => deciding.has(point.toLowerCase())).join(", ")])),
          h("td", { class: "numeric" }, scores ? h("input", { type: "number", min: 0, max: 1000, step: 1, "aria-label": `Weight of ${label}`, value: weights.get(plugin.name) ?? plugin.weight ?? 0, disabled: Boolean(embedded) || without.has(plugin.name), oninput: (event) => {
            const text = event.target.value;
            if (!/^\d{1,4}$/.test(text)) return;
            weights.set(plugin.name, Number(text));
            write();
          } }) : h("span", { class: "none" }, "–")),
          h("td", null, h("label", { class: "switch" }, h("input", { type: "checkbox", role: "switch", checked: !without.has(plugin.name), disabled: Boolean(embedded), "aria-label": `${label} takes part`, onchange: (event) => {
            if (event.target.checked) without.delete(plugin.name);
            else without.add(plugin.name);
            write({});
          } }), h("span", { "aria-hidden": "true" }))));
      })))));
}

function inspector(data, index) {
  const { nodes, plugins } = data;
  const objections = nodes.objections[index] || [];
  const hints = nodes.hints?.[index] || [];
  const scored = plugins.filter((plugin) => nodes.scores[plugin.name] && nodes.scores[plugin.name].raw[index] !== null);
  return panel(["Node ", nodeLink(nodes.names[index], 40)], { key: "inspector" }, facts([["Status", badge(statusOf(data, index), ["good", "bad", "plain"][nodes.status[index]])], ["Total", nodes.total_score[index] === null ? null : h("strong", null, number(nodes.total_score[index]))], ["Place", nodes.status[index] === FEASIBLE ? `${number(index + 1)} of ${number(nodes.feasible)}` : null]]),
    objections.length > 0 && [h("h3", null, "Objections"), h("ul", { class: "plain-list" }, objections.map(([plugin, reason], place) => h("li", { key: place }, h("strong", null, name(plugins[plugin]?.name, 40)), ": ", sentence(data.reasons[reason], 300))))],
    hints.length > 0 && [h("h3", null, "Hints"), h("ul", { class: "plain-list" }, hints.map((text, place) => h("li", { key: place }, sentence(text, 300))))],
    scored.length > 0 && h("div", { class: "table-box plain" }, h("table", { class: "small-table" }, h("caption", null, "Scores"), h("thead", null, h("tr", null, ["Plugin", "Raw", "Normal.", "Weighted"].map((text, place) => h("th", { scope: "col", class: place ? "numeric" : "" }, text)))),
      h("tbody", null, scored.map((plugin) => h("tr", { key: plugin.name }, h("th", { scope: "row" }, name(plugin.name, 30)), ["raw", "normalized", "weighted"].map((kind) => h("td", { class: "numeric" }, number(nodes.scores[plugin.name][kind][index])))))))));
}

function rejections(data) {
  const { nodes, plugins, reasons } = data;
  const counts = new Map();
  nodes.objections.forEach((list) => list.forEach(([plugin, reason]) => {
    const key = `${plugin} ${reason}`;
    counts.set(key, { plugin, reason, nodes: (counts.get(key)?.nodes || 0) + 1 });
  }));
  const rows = [...counts.values()].sort((first, second) => second.nodes - first.nodes).slice(0, 12);
  if (!rows.length) return null;
  return panel("Who rejected", { key: "rejections" }, h("ul", { class: "tally" }, rows.map((row) => h("li", { key: `${row.plugin} ${row.reason}` }, h("span", { class: "tally-count" }, number(row.nodes)), h("span", null, h("strong", null, name(plugins[row.plugin]?.name, 40)), h("span", { class: "soft block" }, sentence(reasons[row.reason], 140)))))),
    h("p", { class: "small" }, `Nodes by objection${data.cut ? ", of those loaded" : ""}; a node may have several.`));
}

function preemption(data) {
  return panel("Preemption", { key: "preemption" }, table({
    key: "preemption", label: "Candidates of the preemption", rows: data.preemption, rowKey: (row) => row.node,
    columns: [
      { key: "node", label: "Node", render: (row) => [nodeLink(row.node), row.node === data.nominated_node && [" ", badge("chosen", "good")]] },
      { key: "victims", label: "Victims", class: "grow", render: (row) => (row.victims.length ? h("ul", { class: "plain-list" }, row.victims.slice(0, 8).map((pod) => h("li", { key: pod.key }, podLink(pod.key), h("span", { class: "soft" }, ` priority ${number(pod.priority)}`, pod.owner ? [", ", name(pod.owner, 40)] : "")))) : "–") },
      { key: "violations", label: "Budget violations", numeric: true, wide: true, render: (row) => number(row.budget_violations) },
      { key: "reason", label: "Reason", class: "grow", wide: true, render: (row) => (row.reason ? sentence(row.reason, 300) : "–") },
    ],
  }));
}

