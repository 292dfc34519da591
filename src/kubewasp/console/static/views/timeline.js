// A simulation, trace or recording over time: series, a scrubber, and the cluster at the chosen position.
import { nodeAddress } from "../address.js";
import { embedded } from "../answers.js";
import { lineChart } from "../chart.js";
import { h, icon } from "../dom.js";
import { count, moment, number, resourceName, share, stamps } from "../format.js";
import { clusterMap } from "../map.js";
import { changeList, heading, panel, select } from "../pieces.js";
import { sentence, visible } from "../text.js";
import { colouring, colourings, lines } from "./clustermap.js";

const speeds = [["1", "1×"], ["4", "4×"], ["16", "16×"], ["64", "64×"]];

export const timeline = {
  title: () => "Timeline",
  keeps: ["at"],
  async load(context) {
    const { ask, run, memory, at } = context;
    if (!context.session.capabilities.timeline) return { absent: true };
    const key = run || "";
    if (memory.seriesOf !== key) {
      memory.series = await ask("/timeline", { run });
      memory.seriesOf = key;
    }
    const position = at === null ? memory.series.length : Math.min(Number(at), memory.series.length);
    const [map, changes] = await Promise.all([ask("/map", { run, at }).catch((error) => {
      if (embedded) return null;
      throw error;
    }), ask("/timeline/changes", { run, from: Math.max(0, position - 6), limit: 8 })]);
    return { ...memory.series, position, map, changes: changes.changes.filter((item) => item.position === undefined || (item.position >= position - 6 && item.position <= position + 2)) };
  },
  leave: ({ memory }) => stop(memory),
  keys: {
    " ": (context) => toggle(context),
    ",": (context) => step(context, -1),
    ".": (context) => step(context, 1),
    n: (context) => next(context, context.session.capabilities.compare ? "difference" : "any"),
  },
  render(context, data) {
    if (data.absent) return [heading("Timeline", "This view has no history: it follows a cluster as it is now.")];
    const { memory, redraw, go, session } = context;
    const { series, position, length } = data;
    const shown = memory.position ?? position;
    const marker = nearest(series.position, shown);
    const ticks = stamps(series.time);
    const pick = (index) => move(context, series.position[index]);
    const resources = Object.keys(series.utilisation);
    const options = data.map ? colourings(data.map, session).filter(([key]) => !key.startsWith("score:")) : [];
    const look = data.map ? colouring(data.map, memory.color || options[0]?.[0] || "pods") : null;
    return [
      heading("Timeline", `${data.start === data.end ? moment(data.end) : `${moment(data.start)} to ${moment(data.end)}`}, ${count(length, "change")}${data.differences ? `, ${count(data.differences, "difference")}` : ""}.`),
      panel(null, { class: "player", key: "player" },
        h("div", { class: "row player-buttons" },
          h("button", { type: "button", class: "button square", "aria-label": "Back one change", title: "Back one change (,)", onclick: () => step(context, -1) }, icon("back")),
          h("button", { type: "button", class: "button primary square", "aria-label": memory.playing ? "Pause" : "Play", title: "Play or pause (space)", onclick: () => toggle(context) }, icon(memory.playing ? "pause" : "play")),
          h("button", { type: "button", class: "button square", "aria-label": "Forward one change", title: "Forward one change (.)", onclick: () => step(context, 1) }, icon("forward")),
          h("button", { type: "button", class: "button", onclick: () => next(context, "difference"), disabled: !data.differences, title: "Next difference (n)" }, "Next difference"),
          h("button", { type: "button", class: "button", onclick: () => next(context, "unschedulable") }, "Next unschedulable"),
          select("Speed", memory.speed || "4", speeds, (value) => {
            memory.speed = value;
            redraw();
          }, { class: "field inline" }),
          h("span", { class: "player-place" }, h("strong", null, ticks[marker]), h("span", { class: "soft" }, ` change ${number(shown)} of ${number(length)}`))),
        h("input", { type: "range", class: "scrubber", min: 0, max: length, step: 1, value: shown, "aria-label": "Position", "aria-valuetext": `${ticks[marker]}, change ${number(shown)} of ${number(length)}`, oninput: (event) => move(context, Number(event.target.value)) }),
        data.marks?.length > 0 && h("ul", { class: "marks" }, data.marks.slice(0, 12).map((item) => h("li", { key: item.position }, h("button", { type: "button", class: "chip", title: visible(item.text, 300), onclick: () => move(context, item.position) }, data.start !== data.end && [stamps([data.start, item.time, data.end])[1], " "], sentence(item.text.split(": ")[0], 40)))), data.marks.length > 12 && h("li", { key: "more", class: "soft" }, `and ${number(data.marks.length - 12)} more`))),
      h("div", { class: "columns even" },
        panel("Pods", null, lineChart({ key: "pods", label: "Pods over time", ticks, format: number, marker, onPick: pick, series: [{ name: "placed", values: series.placed }, { name: "pending", values: series.pending }] })),
        panel("Use", null, lineChart({ key: "use", label: "Use of resources over time", ticks, format: share, least: 1, marker, onPick: pick, series: resources.slice(0, 4).map((key) => ({ name: visible(resourceName(key), 30), values: series.utilisation[key] })) })),
        panel("Nodes in use", null, lineChart({ key: "nodes", label: "Nodes in use over time", ticks, format: number, marker, onPick: pick, series: [{ name: "nodes in use", values: series.nodes_used }] })),
        panel("Around this position", null, data.changes.length ? changeList(data.changes, position) : h("p", { class: "none" }, "No changes here."))),
      data.map && panel("Nodes at this position", { key: "map", class: "map-panel", aside: select("Colour", memory.color || options[0]?.[0], options, (value) => {
        memory.color = value;
        redraw();
      }, { class: "field inline" }) },
      clusterMap({ key: "map", height: 320, names: data.map.names, group: data.map.group, groups: data.map.groups, shape: data.map.by, colours: look.colours, marked: null, text: look.text, lines: (index) => lines(data.map, look, index), label: `Map of ${number(data.map.names.length)} nodes at this position, coloured by ${look.title}`, instructions: "Arrow keys move between nodes, Enter opens a node. The view Cluster map has a table of the same figures.", onOpen: (index) => go(nodeAddress(data.map.names[index])) }),
      h("div", { class: "map-legend" }, h("span", { class: "legend-title" }, look.title), look.legend)),
    ];
  },
};

function nearest(positions, wanted) {
  let low = 0;
  let high = positions.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (positions[middle] <= wanted) low = middle;
    else high = middle - 1;
  }
  return low;
}

// The scrubber follows at once; the rest of the page, as soon as the server has answered.
function move(context, position) {
  const { memory } = context;
  if (!memory.series) return;
  memory.position = Math.max(0, Math.min(memory.series.length, position));
  context.redraw();
  context.change({ at: memory.position >= memory.series.length ? null : memory.position }, { replace: true, delay: 120, throttle: true, then: () => {
    memory.position = undefined;
  } });
}

function here(context) {
  return context.memory.position ?? (context.at === null ? context.memory.series?.length ?? 0 : Number(context.at));
}

function step(context, by) {
  move(context, here(context) + by);
}

async function next(context, kind) {
  try {
    const found = await context.ask("/timeline/next", { run: context.run, from: here(context), kind });
    move(context, found.position);
  } catch (error) {
    context.announce(error.code === 404 ? `No further ${kind === "any" ? "change" : kind}.` : error.message, true);
  }
}

function toggle(context) {
  const { memory } = context;
  if (memory.playing) {
    stop(memory);
    context.redraw();
    return;
  }
  if (!memory.series) return;
  if (here(context) >= memory.series.length) move(context, 0);
  memory.playing = setInterval(() => {
    const now = here(context.current());
    if (now >= memory.series.length) stop(memory);
    move(context.current(), now + Number(memory.speed || 4));
  }, 250);
  context.redraw();
}

function stop(memory) {
  clearInterval(memory.playing);
  memory.playing = null;
}
