// Line charts and histograms as SVG, each with a table of the same numbers.
import { h, island, patch } from "./dom.js";
import { NONE } from "./format.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const LEFT = 52;
const BOTTOM = 20;
const TOP = 8;
const dashes = ["", "5 3", "2 2", "8 3 2 3"];

// props: { label, series: [{ name, values }], ticks: [text per point], format(value), height?, marker?: index, onPick? }
export function lineChart(props) {
  return h("figure", { class: "chart", key: props.key }, legend(props.series),
    island(createLines, props), h("figcaption", { class: "hidden" }, props.label), numbers(props.label, ["When", ...props.series.map((item) => item.name)], sampled(props)));
}

function sampled({ series, ticks, format }) {
  const step = Math.max(1, Math.ceil(ticks.length / 30));
  return ticks.map((tick, index) => [tick, ...series.map((item) => show(item.values[index], format))]).filter((_, index) => index % step === 0 || index === ticks.length - 1);
}

function show(value, format) {
  return value === null || value === undefined ? NONE : format(value);
}

function legend(series) {
  if (series.length < 2) return null;
  return h("ul", { class: "legend", "aria-hidden": "true" }, series.map((item, index) => h("li", { key: item.name }, h("svg", { class: "key", width: 18, height: 8 },
    h("line", { x1: 0, x2: 18, y1: 4, y2: 4, class: `line line-${index + 1}`, "stroke-dasharray": dashes[index % dashes.length] })), item.name)));
}

export function numbers(label, head, rows) {
  return h("details", { class: "numbers" }, h("summary", null, "Table", h("span", { class: "hidden" }, ` of ${label}`)),
    h("div", { class: "table-box short", tabindex: 0, role: "region", "aria-label": `${label}, table` }, h("table", null,
      h("thead", null, h("tr", null, head.map((text, index) => h("th", { scope: "col", class: index ? "numeric" : "" }, text)))),
      h("tbody", null, rows.map((row) => h("tr", null, row.map((cell, index) => h(index ? "td" : "th", index ? { class: "numeric" } : { scope: "row" }, cell))))))));
}

export function niceTop(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((top) => top >= most * 0.9999);
}

function createLines() {
  const element = document.createElement("div");
  element.className = "plot";
  let props = null;
  let width = 0;
  const observer = new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now !== width && now > 0) {
      width = now;
      draw();
    }
  });
  observer.observe(element);

  function draw() {
    if (!props || !width) return;
    const height = props.height || 160;
    const { series, ticks, format } = props;
    const length = ticks.length;
    const values = series.flatMap((item) => item.values).filter((value) => value !== null && value !== undefined);
    const top = niceTop(values.reduce((most, value) => Math.max(most, value), props.least || 0));
    const x = (index) => LEFT + (length > 1 ? (index / (length - 1)) * (width - LEFT - 8) : 0);
    const y = (value) => TOP + (1 - value / top) * (height - TOP - BOTTOM);
    const path = (values) => {
      let pen = "M";
      let text = "";
      values.forEach((value, index) => {
        if (value === null || value === undefined) pen = "M";
        else {
          text += `${pen}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
          pen = "L";
        }
      });
      return text;
    };
    const middle = Math.floor((length - 1) / 2);
    const summary = series.map((item) => {
      const known = item.values.filter((value) => value !== null && value !== undefined);
      return known.length ? `${item.name}: ${format(known[0])} to ${format(known.at(-1))}, at most ${format(Math.max(...known))}` : `${item.name}: no values`;
    });
    patch(element, h("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${props.label}. ${summary.join("; ")}.` },
      [0, 0.5, 1].map((part) => h("g", { key: part }, h("line", { class: "rule", x1: LEFT, x2: width - 8, y1: y(part * top), y2: y(part * top) }),
        h("text", { class: "tick", x: LEFT - 8, y: y(part * top) + 4, "text-anchor": "end" }, format(part * top)))),
      (length > 2 ? [0, middle, length - 1] : [0]).filter((index) => ticks[index]).map((index) => h("text", { class: "tick", x: x(index), y: height - 4, "text-anchor": index === 0 ? "start" : index === length - 1 ? "end" : "middle" }, ticks[index])),
      series.length === 1 && length > 1 && values.length === length && h("path", { class: "area", d: `${path(series[0].values)}L${x(length - 1)} ${y(0)}L${x(0)} ${y(0)}Z` }),
      series.map((item, index) => h("path", { key: item.name, class: `line line-${index + 1}`, d: path(item.values), "stroke-dasharray": dashes[index % dashes.length] })),
      props.marker !== undefined && props.marker !== null && length > 0 && h("line", { class: "marker", x1: x(props.marker), x2: x(props.marker), y1: TOP - 4, y2: height - BOTTOM })));
  }

  function indexAt(event) {
    const left = element.getBoundingClientRect().left;
    const length = props.ticks.length;
    return Math.max(0, Math.min(length - 1, Math.round(((event.clientX - left - LEFT) / (width - LEFT - 8)) * (length - 1))));
  }

  element.addEventListener("pointermove", (event) => {
    if (!props?.ticks.length) return;
    const index = indexAt(event);
    showTooltip(event.clientX, event.clientY, props.ticks[index], props.series.map((item) => [item.name, show(item.values[index], props.format)]));
  });
  element.addEventListener("pointerleave", hideTooltip);
  element.addEventListener("click", (event) => props.onPick?.(indexAt(event)));

  return {
    element,
    update(next) {
      props = next;
      draw();
    },
    destroy() {
      observer.disconnect();
      hideTooltip();
    },
  };
}

export function sparkline(values) {
  const known = (values || []).filter((value) => value !== null && value !== undefined);
  if (known.length < 3) return null;
  const top = Math.max(...known) || 1;
  const low = Math.min(...known, 0);
  const points = known.map((value, index) => `${((index / (known.length - 1)) * 100).toFixed(1)},${(22 - ((value - low) / (top - low || 1)) * 20).toFixed(1)}`).join(" ");
  return h("svg", { class: "spark", viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" }, h("polyline", { points, class: "line line-1" }));
}

// props: { label, unit, edges: [number], counts: [[number] per run], runs: [name], format }
export function histogram(props) {
  const rows = props.counts[0]?.map((_, index) => [`${props.format(props.edges[index])} to ${props.format(props.edges[index + 1])}`, ...props.counts.map((counts) => String(counts[index]))]) || [];
  return h("figure", { class: "chart", key: props.key }, h("figcaption", null, props.label), island(createBars, props), numbers(props.label, ["Range", ...props.runs], rows));
}

function createBars() {
  const element = document.createElement("div");
  element.className = "plot";
  let props = null;
  let width = 0;
  const observer = new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now !== width && now > 0) {
      width = now;
      draw();
    }
  });
  observer.observe(element);

  function draw() {
    if (!props || !width) return;
    const { counts, edges, runs, format } = props;
    const bins = counts[0]?.length || 0;
    const high = 46;
    const top = Math.max(1, ...counts.flat());
    const step = (width - 2) / Math.max(1, bins);
    const height = counts.length * (high + 18) + BOTTOM;
    const means = counts.map((run) => run.reduce((sum, value) => sum + value, 0));
    patch(element, h("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${props.label}: ${bins} ranges, ${runs.map((run, index) => `${run} ${means[index]}`).join(", ")}` },
      counts.map((run, place) => h("g", { key: place },
        h("text", { class: "tick strong", x: 0, y: place * (high + 18) + 12 }, runs[place]),
        run.map((value, index) => h("rect", { key: index, class: `bar bar-${place + 1}`, x: index * step + 0.5, width: Math.max(1, step - 1.5), y: place * (high + 18) + 16 + high * (1 - value / top), height: Math.max(value ? 1 : 0, (high * value) / top) })),
        h("line", { class: "rule", x1: 0, x2: width, y1: place * (high + 18) + 16 + high, y2: place * (high + 18) + 16 + high }))),
      [0, Math.floor(bins / 2), bins].map((index) => h("text", { class: "tick", x: index * step, y: height - 4, "text-anchor": index === 0 ? "start" : index === bins ? "end" : "middle" }, format(edges[index] ?? 0)))));
  }

  return {
    element,
    update(next) {
      props = next;
      draw();
    },
    destroy: () => observer.disconnect(),
  };
}

// A bar of a share, with its figure beside it.
export function meter(value, text) {
  return h("span", { class: "meter-line" }, h("span", { class: "meter", "aria-hidden": "true" }, h("span", { style: { width: `${Math.round(Math.max(0, Math.min(1, value || 0)) * 100)}%` }, class: value > 0.9 ? "full" : "" })), h("span", { class: "meter-text" }, text));
}
