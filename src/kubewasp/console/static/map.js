// The cluster as a picture: a cell per node, in blocks by group. All cells are one bitmap with a pixel per node, so a
// frame costs one scaled copy plus what is in view: grid lines, marks and names, never a step per node.
import { h, icon, island, patch } from "./dom.js";
import { css, ink, onThemeChange, variable } from "./palette.js";
import { hideTooltip, showTooltip } from "./tooltip.js";
import { visible } from "./text.js";

const EMPTY = -1;
const LARGEST_CELL = 160;
const NAMES_FROM = 64;
const LINES_FROM = 4;

// props: { names, group: [index], groups: [{ name }], colours: [[r, g, b] | null per node], marked: [0|1] | null,
// text(index): value of a node, lines(index): [[label, value]], label, instructions, selected, onSelect, onOpen, together }
export function clusterMap(props) {
  return island(createMap, props);
}

// Blocks of equal width in rows, with the largest cells that fit.
export function arrange(sizes, width, height) {
  let best = null;
  const attempt = (columns, cell) => {
    const gap = Math.max(1, Math.ceil(14 / cell));
    const label = Math.ceil(22 / cell);
    const across = Math.floor(width / cell);
    const wide = Math.floor((across - (columns - 1) * gap) / columns);
    if (wide < 1) return null;
    let used = 0;
    for (let start = 0; start < sizes.length; start += columns) {
      let most = 0;
      for (let index = start; index < Math.min(start + columns, sizes.length); index++) most = Math.max(most, Math.ceil(sizes[index] / wide));
      used += label + most + (start > 0 ? gap : 0);
      if (used * cell > height) return null;
    }
    return { columns, cell, gap, label, wide, across, down: used };
  };
  // Few nodes need no large cells, and stand in few rows.
  const most = Math.min(sizes.length, 64);
  for (let columns = 1; columns <= most; columns++) {
    let low = 0;
    let high = 132;
    for (let step = 0; step < 12; step++) {
      const cell = (low + high) / 2;
      const found = cell > 0.02 ? attempt(columns, cell) : null;
      if (found) {
        low = cell;
        if (!best || cell >= best.cell) best = found;
      } else high = cell;
    }
  }
  // Whole pixels are sharper, and nothing gets larger by rounding down.
  if (best && best.cell > 3) best = attempt(best.columns, Math.floor(best.cell)) || best;
  return best || { columns: 1, cell: 1, gap: 1, label: 1, wide: Math.max(1, Math.floor(width)), across: width, down: height };
}

function place(group, sizes, plan) {
  const blocks = [];
  let top = 0;
  for (let start = 0; start < sizes.length; start += plan.columns) {
    const row = sizes.slice(start, start + plan.columns);
    const rows = Math.max(...row.map((size) => Math.ceil(size / plan.wide)));
    row.forEach((size, offset) => blocks.push({ x: offset * (plan.wide + plan.gap), y: top + plan.label, wide: Math.min(plan.wide, Math.max(size, 1)), rows: Math.ceil(size / plan.wide) }));
    top += plan.label + rows + plan.gap;
  }
  const across = Math.max(1, ...blocks.map((block) => block.x + plan.wide));
  const down = Math.max(1, top);
  const cells = new Int32Array(across * down).fill(EMPTY);
  const xs = new Int32Array(group.length);
  const ys = new Int32Array(group.length);
  const filled = new Int32Array(sizes.length);
  for (let index = 0; index < group.length; index++) {
    const block = blocks[group[index]];
    const number = filled[group[index]]++;
    xs[index] = block.x + (number % plan.wide);
    ys[index] = block.y + Math.floor(number / plan.wide);
    cells[ys[index] * across + xs[index]] = index;
  }
  return { blocks, across, down, cells, xs, ys };
}

function createMap(first) {
  const element = document.createElement("div");
  element.className = "map";
  const canvas = document.createElement("canvas");
  canvas.setAttribute("aria-hidden", "true");
  const field = document.createElement("div");
  field.className = "map-field";
  field.tabIndex = 0;
  field.setAttribute("role", "application");
  field.setAttribute("aria-roledescription", "cluster map");
  field.append(canvas);
  const status = document.createElement("p");
  status.className = "hidden";
  status.setAttribute("role", "status");
  const buttons = document.createElement("div");
  buttons.className = "map-buttons";
  element.append(field, buttons, status);
  const pen = canvas.getContext("2d");
  const bitmap = document.createElement("canvas");

  let props = first;
  let layout = null;
  let shape = "";
  let width = 0;
  let height = 0;
  let density = 1;
  let fit = 1;
  let view = { cell: 1, x: 0, y: 0 };
  let hovered = EMPTY;
  let cursor = EMPTY;
  let waiting = 0;
  let stopTheme = onThemeChange(() => schedule());
  const pointers = new Map();
  let dragged = 0;

  const observer = new ResizeObserver(([entry]) => {
    const box = entry.contentRect;
    if (Math.round(box.width) === width && Math.round(box.height) === height) return;
    width = Math.round(box.width);
    height = Math.round(box.height);
    density = Math.min(2, devicePixelRatio || 1);
    canvas.width = Math.max(1, Math.round(width * density));
    canvas.height = Math.max(1, Math.round(height * density));
    shape = "";
    arrangeAll();
  });
  observer.observe(field);

  patch(buttons, [["Zoom in", "plus", () => zoom(1.5)], ["Zoom out", "minus", () => zoom(1 / 1.5)], ["Whole cluster", "fit", () => fitAll()]].map(([label, picture, act]) =>
    h("button", { key: label, type: "button", class: "button square", "aria-label": label, title: label, onclick: act }, icon(picture))));

  function arrangeAll() {
    if (!width || !height || !props.names) return;
    const now = `${width}x${height}:${props.shape ?? ""}:${props.names.length}:${props.groups.length}`;
    if (now !== shape || props.names !== arrangeAll.names || props.group !== arrangeAll.group) {
      const sizes = new Array(props.groups.length).fill(0);
      for (const index of props.group) sizes[index] += 1;
      const same = layout && now === shape && sizes.join() === layout.sizes.join();
      const plan = arrange(sizes, width - 8, height - 8);
      layout = { ...place(props.group, sizes, plan), plan, sizes };
      bitmap.width = layout.across;
      bitmap.height = layout.down;
      fit = plan.cell;
      if (!same) fitAll();
      shape = now;
      arrangeAll.names = props.names;
      arrangeAll.group = props.group;
    }
    paint();
  }

  function paint() {
    const image = new ImageData(layout.across, layout.down);
    const pixels = new Uint32Array(image.data.buffer);
    const { xs, ys, across } = layout;
    const { colours } = props;
    for (let index = 0; index < xs.length; index++) {
      const found = colours[index];
      if (found) pixels[ys[index] * across + xs[index]] = 0xff000000 | (found[2] << 16) | (found[1] << 8) | found[0];
    }
    bitmap.getContext("2d").putImageData(image, 0, 0);
    schedule();
  }

  function schedule() {
    if (!waiting) waiting = requestAnimationFrame(draw);
  }

  function draw() {
    waiting = 0;
    if (!layout || !width) return;
    const work = { images: 0, lines: 0, marks: 0, texts: 0, nodes: layout.xs.length };
    const { cell, x, y } = view;
    const { across, down, cells } = layout;
    pen.setTransform(density, 0, 0, density, 0, 0);
    pen.clearRect(0, 0, width, height);
    const left = Math.max(0, Math.floor(-x / cell));
    const top = Math.max(0, Math.floor(-y / cell));
    const right = Math.min(across, Math.ceil((width - x) / cell));
    const bottom = Math.min(down, Math.ceil((height - y) / cell));
    if (right > left && bottom > top) {
      pen.imageSmoothingEnabled = cell < 1;
      pen.drawImage(bitmap, left, top, right - left, bottom - top, x + left * cell, y + top * cell, (right - left) * cell, (bottom - top) * cell);
      work.images = 1;
      if (cell >= LINES_FROM) {
        pen.strokeStyle = variable("--surface");
        pen.lineWidth = cell >= 24 ? 3 : cell >= 10 ? 2 : 1;
        pen.beginPath();
        for (let column = left; column <= right; column++) {
          pen.moveTo(x + column * cell, y + top * cell);
          pen.lineTo(x + column * cell, y + bottom * cell);
        }
        for (let row = top; row <= bottom; row++) {
          pen.moveTo(x + left * cell, y + row * cell);
          pen.lineTo(x + right * cell, y + row * cell);
        }
        pen.stroke();
        work.lines = right - left + bottom - top + 2;
      }
      if (cell >= 5 && (props.marked || cell >= NAMES_FROM)) {
        pen.lineWidth = 1.5;
        for (let row = top; row < bottom; row++) {
          for (let column = left; column < right; column++) {
            const index = cells[row * across + column];
            if (index === EMPTY) continue;
            if (props.marked?.[index]) work.marks += mark(column, row, index);
            if (cell >= NAMES_FROM) work.texts += caption(column, row, index);
          }
        }
      }
      work.texts += titles();
    }
    outline(hovered, variable("--text-soft"), 1.5);
    outline(cursor, variable("--accent"), 2.5);
    if (props.selected !== undefined && props.selected !== cursor) outline(props.selected, variable("--accent"), 2.5);
    element.dispatchEvent(new CustomEvent("kubewasp-drawn", { bubbles: true, detail: work }));
  }

  function mark(column, row, index) {
    const { cell, x, y } = view;
    const inset = cell * 0.24;
    pen.strokeStyle = ink(props.colours[index] || [128, 128, 128]);
    pen.beginPath();
    pen.moveTo(x + column * cell + inset, y + (row + 1) * cell - inset);
    pen.lineTo(x + (column + 1) * cell - inset, y + row * cell + inset);
    pen.stroke();
    return 1;
  }

  function caption(column, row, index) {
    const { cell, x, y } = view;
    pen.fillStyle = ink(props.colours[index] || [255, 255, 255]);
    pen.font = `500 11px ${variable("--font")}`;
    pen.textAlign = "center";
    const most = Math.floor(cell / 6.4);
    const label = visible(props.names[index], 120);
    pen.fillText(label.length > most ? `…${label.slice(1 - most)}` : label, x + (column + 0.5) * cell, y + (row + 0.5) * cell - 3);
    pen.font = `600 12px ${variable("--font")}`;
    pen.fillText(props.text(index), x + (column + 0.5) * cell, y + (row + 0.5) * cell + 13);
    return 2;
  }

  function titles() {
    const { cell, x, y } = view;
    let drawn = 0;
    pen.textAlign = "left";
    layout.blocks.forEach((block, index) => {
      const start = x + block.x * cell;
      const base = y + block.y * cell - 7;
      const room = layout.plan.wide * cell + 6;
      if (start > width || start + room < 0 || base < -4 || base > height + 20 || room < 34) return;
      pen.fillStyle = variable("--text-soft");
      pen.font = `500 12px ${variable("--font")}`;
      const most = Math.floor(room / 6.6);
      const suffix = room > 150 ? `  ${layout.sizes[index]}` : "";
      const label = visible(props.groups[index].name || "none", 80);
      pen.fillText((label.length + suffix.length > most ? `${label.slice(0, Math.max(1, most - 1))}…` : label + suffix), Math.max(start, 2), base);
      drawn += 1;
    });
    return drawn;
  }

  function outline(index, colour, line) {
    if (index === EMPTY || index === undefined || index === null || index >= layout.xs.length) return;
    const size = Math.max(view.cell, 6);
    const shift = (size - view.cell) / 2;
    pen.strokeStyle = variable("--surface");
    const box = [view.x + layout.xs[index] * view.cell - shift, view.y + layout.ys[index] * view.cell - shift, size, size];
    pen.lineWidth = line + 2;
    pen.strokeRect(...box);
    pen.strokeStyle = colour;
    pen.lineWidth = line;
    pen.strokeRect(...box);
  }

  function limit() {
    const wide = layout.across * view.cell;
    const tall = layout.down * view.cell;
    const slackX = Math.max(0, (width - wide) / 2);
    const slackY = Math.min(4, Math.max(0, (height - tall) / 2));
    view.x = wide <= width ? Math.min(slackX, 4) : Math.min(width * 0.3, Math.max(width * 0.7 - wide, view.x));
    view.y = tall <= height ? slackY : Math.min(height * 0.3, Math.max(height * 0.7 - tall, view.y));
    field.style.touchAction = view.cell > fit * 1.05 ? "none" : "pan-y";
    field.classList.toggle("movable", view.cell > fit * 1.05);
  }

  function fitAll() {
    if (!layout) return;
    view = { cell: fit, x: 4, y: 4 };
    moved();
  }

  function moved() {
    limit();
    schedule();
    props.together?.tell(controls, { zoom: view.cell / fit, x: (width / 2 - view.x) / view.cell / layout.across, y: (height / 2 - view.y) / view.cell / layout.down });
  }

  function zoom(factor, atX = width / 2, atY = height / 2) {
    const cell = Math.max(fit, Math.min(Math.max(LARGEST_CELL, fit), view.cell * factor));
    view.x = atX - ((atX - view.x) / view.cell) * cell;
    view.y = atY - ((atY - view.y) / view.cell) * cell;
    view.cell = cell;
    moved();
  }

  function at(event) {
    const box = field.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - view.x) / view.cell);
    const row = Math.floor((event.clientY - box.top - view.y) / view.cell);
    if (!layout || column < 0 || row < 0 || column >= layout.across || row >= layout.down) return EMPTY;
    return layout.cells[row * layout.across + column];
  }

  function show(index) {
    const margin = Math.min(60, view.cell * 2);
    const x = view.x + layout.xs[index] * view.cell;
    const y = view.y + layout.ys[index] * view.cell;
    if (x < margin) view.x += margin - x;
    if (x + view.cell > width - margin) view.x -= x + view.cell - (width - margin);
    if (y < margin) view.y += margin - y;
    if (y + view.cell > height - margin) view.y -= y + view.cell - (height - margin);
    moved();
  }

  function step(dx, dy) {
    if (cursor === EMPTY) return select(0);
    let column = layout.xs[cursor];
    let row = layout.ys[cursor];
    for (;;) {
      column += dx;
      row += dy;
      if (column < 0 || row < 0 || column >= layout.across || row >= layout.down) return undefined;
      const found = layout.cells[row * layout.across + column];
      if (found !== EMPTY) return select(found);
    }
  }

  function select(index) {
    if (index < 0 || index >= layout.xs.length) return;
    cursor = index;
    show(index);
    const words = props.lines(index).map(([label, value]) => `${label} ${value}`).join(", ");
    status.textContent = `${visible(props.names[index])}: ${words}`;
    props.onSelect?.(index);
    props.together?.select(controls, props.names[index]);
  }

  const actions = {
    ArrowLeft: (far) => step(far ? -1 : -1, 0),
    ArrowRight: () => step(1, 0),
    ArrowUp: () => step(0, -1),
    ArrowDown: () => step(0, 1),
    Home: () => select(0),
    End: () => select(layout.xs.length - 1),
    "+": () => zoom(1.4, ...centre()),
    "=": () => zoom(1.4, ...centre()),
    "-": () => zoom(1 / 1.4, ...centre()),
    0: () => fitAll(),
    Enter: () => cursor !== EMPTY && props.onOpen?.(cursor),
    Escape: () => {
      cursor = EMPTY;
      status.textContent = "";
      props.onSelect?.(EMPTY);
      schedule();
    },
  };

  function centre() {
    return cursor === EMPTY ? [] : [view.x + (layout.xs[cursor] + 0.5) * view.cell, view.y + (layout.ys[cursor] + 0.5) * view.cell];
  }

  field.addEventListener("keydown", (event) => {
    if (event.target !== field || event.ctrlKey || event.metaKey || event.altKey || !layout || !(event.key in actions)) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  });
  field.addEventListener("focus", () => {
    if (cursor === EMPTY && props.selected >= 0) cursor = props.selected;
  });
  field.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== field) return;
    event.preventDefault();
    const box = field.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0022)), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  field.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    pointers.set(event.pointerId, event);
    dragged = 0;
    field.setPointerCapture(event.pointerId);
  });
  field.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return hover(event);
    pointers.set(event.pointerId, event);
    hideTooltip();
    if (pointers.size === 2) {
      const [one, two] = [...pointers.values()];
      const other = one.pointerId === event.pointerId ? two : one;
      const box = field.getBoundingClientRect();
      const now = Math.hypot(event.clientX - other.clientX, event.clientY - other.clientY);
      const then = Math.hypot(before.clientX - other.clientX, before.clientY - other.clientY) || 1;
      dragged = 99;
      zoom(now / then, (event.clientX + other.clientX) / 2 - box.left, (event.clientY + other.clientY) / 2 - box.top);
    } else if (pointers.size === 1) {
      dragged += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
      if (dragged > 3 && view.cell > fit * 1.05) {
        view.x += event.clientX - before.clientX;
        view.y += event.clientY - before.clientY;
        moved();
      }
    }
    return undefined;
  });
  const release = (event) => {
    const was = pointers.delete(event.pointerId);
    if (was && event.type === "pointerup" && dragged <= 3) {
      const found = at(event);
      if (found !== EMPTY) select(found);
    }
  };
  field.addEventListener("pointerup", release);
  field.addEventListener("pointercancel", release);
  field.addEventListener("dblclick", (event) => {
    const found = at(event);
    if (found !== EMPTY) props.onOpen?.(found);
  });
  field.addEventListener("pointerleave", () => hover(null));

  function hover(event) {
    const found = event ? at(event) : EMPTY;
    if (found === EMPTY) hideTooltip();
    else showTooltip(event.clientX, event.clientY, visible(props.names[found], 60), props.lines(found));
    if (found !== hovered) {
      hovered = found;
      schedule();
    }
  }

  const controls = {
    follow(place) {
      if (!layout) return;
      view.cell = fit * place.zoom;
      view.x = width / 2 - place.x * layout.across * view.cell;
      view.y = height / 2 - place.y * layout.down * view.cell;
      limit();
      schedule();
    },
    mark(name) {
      cursor = props.names.indexOf(name);
      schedule();
    },
  };
  props.together?.join(controls);

  return {
    element,
    update(next) {
      const picked = next.selected !== props.selected && next.selected !== cursor && next.selected >= 0;
      props = next;
      field.setAttribute("aria-label", next.label);
      field.setAttribute("aria-description", next.instructions || "Arrow keys move between nodes, plus and minus zoom, 0 shows the whole cluster, Enter opens a node. The table below has the same figures.");
      field.style.height = next.height ? `${next.height}px` : "";
      if (width && next.names) arrangeAll();
      if (picked && layout) {
        cursor = next.selected;
        show(cursor);
      }
    },
    destroy() {
      observer.disconnect();
      stopTheme();
      props.together?.leave(controls);
      hideTooltip();
    },
  };
}

// Maps that pan, zoom and select together.
export function together() {
  const members = new Set();
  return {
    join: (member) => members.add(member),
    leave: (member) => members.delete(member),
    tell: (from, place) => members.forEach((member) => member !== from && member.follow(place)),
    select: (from, name) => members.forEach((member) => member !== from && member.mark(name)),
  };
}

// The meaning of a map's colours, in words and figures.
export function rampLegend(table, from, to) {
  return h("div", { class: "ramp-legend" }, h("span", null, from), h("span", { class: "ramp", "aria-hidden": "true", style: { background: `linear-gradient(90deg, ${[0, 64, 128, 192, 255].map((index) => css(table[index])).join(", ")})` } }), h("span", null, to));
}

export function hueLegend(entries) {
  return h("ul", { class: "hue-legend" }, entries.map(([label, colour]) => h("li", { key: label }, h("span", { class: "swatch", "aria-hidden": "true", style: { background: css(colour) } }), label)));
}
