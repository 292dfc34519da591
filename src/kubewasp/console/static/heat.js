// Every node of a decision against every plugin, in one strip: a row per plugin, a column per node, best first.
import { h, island, patch } from "./dom.js";
import { onThemeChange, variable } from "./palette.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const ROW = 22;
const MOST_COLUMNS = 8192;

// props: { label, rows: [name], columns: number, cell(row, column): [r, g, b] | null, rejected(row, column): bool,
// title(column): text, lines(column): [[label, value]], selected: column, onSelect(column), version }
export function heatMap(props) {
  return island(createHeat, props);
}

function createHeat() {
  const element = document.createElement("div");
  element.className = "heat";
  const labels = document.createElement("div");
  labels.className = "heat-labels";
  labels.setAttribute("aria-hidden", "true");
  const field = document.createElement("div");
  field.className = "heat-field";
  field.tabIndex = 0;
  field.setAttribute("role", "application");
  field.setAttribute("aria-roledescription", "heat map");
  const canvas = document.createElement("canvas");
  canvas.setAttribute("aria-hidden", "true");
  field.append(canvas);
  const status = document.createElement("p");
  status.className = "hidden";
  status.setAttribute("role", "status");
  element.append(labels, field, status);
  const bitmap = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  let props = null;
  let width = 0;
  let cursor = -1;
  let row = 0;
  let painted = "";
  const stop = onThemeChange(() => {
    painted = "";
    draw();
  });
  const observer = new ResizeObserver(([entry]) => {
    width = Math.round(entry.contentRect.width);
    draw();
  });
  observer.observe(field);

  function paint() {
    const now = `${props.version}:${props.columns}:${props.rows.length}`;
    if (now === painted) return;
    painted = now;
    const across = Math.max(1, Math.min(MOST_COLUMNS, props.columns));
    bitmap.width = across;
    bitmap.height = props.rows.length * 3; // thrice: scaling never mixes two rows
    const image = new ImageData(across, props.rows.length * 3);
    const pixels = new Uint32Array(image.data.buffer);
    for (let column = 0; column < across; column++) {
      const node = Math.floor((column * props.columns) / across);
      for (let index = 0; index < props.rows.length; index++) {
        const found = props.cell(index, node);
        if (found) for (let line = 0; line < 3; line++) pixels[(index * 3 + line) * across + column] = 0xff000000 | (found[2] << 16) | (found[1] << 8) | found[0];
      }
    }
    bitmap.getContext("2d").putImageData(image, 0, 0);
  }

  function draw() {
    if (!props || !width || !props.columns) return;
    paint();
    const density = Math.min(2, devicePixelRatio || 1);
    const height = props.rows.length * ROW;
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    canvas.style.height = `${height}px`;
    pen.setTransform(density, 0, 0, density, 0, 0);
    pen.imageSmoothingEnabled = props.columns > width * density;
    pen.imageSmoothingQuality = "high";
    const step = width / props.columns;
    props.rows.forEach((_, index) => pen.drawImage(bitmap, 0, index * 3 + 1, bitmap.width, 1, 0, index * ROW, width, ROW - 2));
    if (step >= 8) {
      pen.fillStyle = variable("--surface");
      for (let column = 1; column < props.columns; column++) pen.fillRect(Math.round(column * step) - 1, 0, 1, height);
      pen.strokeStyle = variable("--rejected-ink");
      pen.lineWidth = 1.5;
      for (let column = 0; column < props.columns; column++) {
        props.rows.forEach((_, index) => {
          if (!props.rejected(index, column)) return;
          const x = (column + 0.5) * step;
          const y = index * ROW + ROW / 2 - 1;
          pen.beginPath();
          pen.moveTo(x - 3, y - 3);
          pen.lineTo(x + 3, y + 3);
          pen.moveTo(x + 3, y - 3);
          pen.lineTo(x - 3, y + 3);
          pen.stroke();
        });
      }
    }
    const column = cursor >= 0 ? cursor : props.selected;
    if (column >= 0 && column < props.columns) {
      pen.strokeStyle = variable("--accent");
      pen.lineWidth = 2;
      pen.strokeRect(column * step - Math.max(0, 3 - step) / 2 + 0.5, 1, Math.max(step, 3) - 1, height - 3);
    }
  }

  function columnAt(event) {
    const box = field.getBoundingClientRect();
    return Math.max(0, Math.min(props.columns - 1, Math.floor(((event.clientX - box.left) / width) * props.columns)));
  }

  function select(column) {
    cursor = Math.max(0, Math.min(props.columns - 1, column));
    draw();
    const lines = props.lines(cursor);
    status.textContent = `${props.title(cursor)}: ${lines.map(([label, value]) => `${label} ${value}`).join(", ")}`;
    props.onSelect?.(cursor);
  }

  field.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !props.columns) return;
    const page = Math.max(1, Math.round(props.columns / 20));
    const moves = { ArrowRight: cursor + 1, ArrowLeft: cursor - 1, Home: 0, End: props.columns - 1, PageDown: cursor + page, PageUp: cursor - page };
    if (event.key in moves) {
      event.preventDefault();
      select(moves[event.key]);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      row = Math.max(0, Math.min(props.rows.length - 1, row + (event.key === "ArrowDown" ? 1 : -1)));
      const column = Math.max(0, cursor);
      const line = props.lines(column).find(([label]) => label === props.rows[row]);
      status.textContent = `${props.rows[row]}: ${line ? line[1] : "no score"}`;
    } else if (event.key === "Enter" && cursor >= 0) {
      event.preventDefault();
      props.onOpen?.(cursor);
    }
  });
  field.addEventListener("pointermove", (event) => {
    if (!props.columns) return;
    const column = columnAt(event);
    showTooltip(event.clientX, event.clientY, props.title(column), props.lines(column));
  });
  field.addEventListener("pointerleave", hideTooltip);
  field.addEventListener("click", (event) => props.columns && select(columnAt(event)));

  return {
    element,
    update(next) {
      if (!props || next.columns !== props.columns) cursor = -1;
      props = next;
      field.setAttribute("aria-label", next.label);
      field.setAttribute("aria-description", "Left and right move between nodes, up and down between plugins, Enter opens the node. The table below has the same figures.");
      patch(labels, next.rows.map((label) => h("span", { key: label, style: { height: `${ROW}px`, "line-height": `${ROW}px` }, title: label }, label)));
      draw();
    },
    destroy() {
      observer.disconnect();
      stop();
      hideTooltip();
    },
  };
}
