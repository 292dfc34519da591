// A table with one focusable row: arrows move between rows and within a row, Enter follows the first link of a row.
// Long tables are virtual: only the rows in view are in the page, and aria-rowcount has the true number.
import { embedded } from "./answers.js";
import { h, icon, island, patch } from "./dom.js";
import { number } from "./format.js";

const VIRTUAL_FROM = 120;
const MARGIN = 8;

// columns: [{ key, label, title?, render(row), numeric?, wide?, sort?(row), class? }]. sorted: { key, descending } with
// onSort(key) sorts on the server; otherwise columns with sort() are sorted here.
export function table(props) {
  return island(createTable, props);
}

function createTable() {
  const element = document.createElement("div");
  element.className = "table-box";
  let props = {};
  let rows = [];
  let active = 0;
  let own = null;
  let frame = 0;
  let drawn = "";

  element.addEventListener("scroll", () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const [first, last] = range();
      if (`${first}-${last}` !== drawn) draw();
      if (props.onEnd && element.scrollTop + element.clientHeight > element.scrollHeight - 400) props.onEnd();
    });
  }, { passive: true });
  element.addEventListener("keydown", onKey);
  element.addEventListener("focusin", (event) => {
    const row = event.target.closest("tbody tr[data-index]");
    if (row && Number(row.dataset.index) !== active) {
      active = Number(row.dataset.index);
      draw();
    }
  });

  function isVirtual() {
    return rows.length > VIRTUAL_FROM;
  }

  function rowHeight() {
    return props.rowHeight || 34;
  }

  function range() {
    if (!isVirtual()) return [0, rows.length];
    const first = Math.max(0, Math.floor(element.scrollTop / rowHeight()) - MARGIN);
    return [first, Math.min(rows.length, first + Math.ceil((element.clientHeight || 480) / rowHeight()) + 2 * MARGIN)];
  }

  function focusRow(index) {
    active = Math.max(0, Math.min(rows.length - 1, index));
    if (isVirtual()) {
      const top = active * rowHeight();
      const head = rowHeight();
      if (top < element.scrollTop) element.scrollTop = top;
      else if (top + 2 * head > element.scrollTop + element.clientHeight) element.scrollTop = top + 2 * head - element.clientHeight;
    }
    draw();
    const row = element.querySelector(`tbody tr[data-index="${active}"]`);
    row?.focus({ preventScroll: isVirtual() });
    props.onActive?.(rows[active], active);
  }

  function onKey(event) {
    const row = event.target.closest("tbody tr[data-index]");
    if (!row || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    const page = Math.max(1, Math.floor(element.clientHeight / rowHeight()) - 2);
    const steps = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: rows.length - 1, PageDown: active + page, PageUp: active - page };
    if (event.key in steps) {
      event.preventDefault();
      focusRow(steps[event.key]);
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const items = [...row.querySelectorAll("a, button, summary, input")];
      if (!items.length) return;
      event.preventDefault();
      const place = items.indexOf(event.target) + (event.key === "ArrowRight" ? 1 : -1);
      (items[Math.min(place, items.length - 1)] || row).focus();
    } else if (event.key === "Enter" && event.target === row) {
      event.preventDefault();
      if (props.onOpen) props.onOpen(rows[active], active);
      else row.querySelector("a, button, summary")?.click();
    }
  }

  function sortBy(column) {
    const now = props.onSort ? props.sorted : own;
    const descending = now?.key === column.key ? !now.descending : !!column.numeric;
    if (props.onSort) props.onSort(column.key, descending);
    else {
      own = { key: column.key, descending };
      prepare();
      draw();
    }
  }

  function prepare() {
    rows = props.rows;
    const column = own && props.columns.find((item) => item.key === own.key);
    if (!column?.sort) return;
    const keyed = rows.map((row) => [column.sort(row) ?? -Infinity, row]);
    const sign = own.descending ? -1 : 1;
    keyed.sort(([first], [second]) => (first < second ? -sign : first > second ? sign : 0));
    rows = keyed.map(([, row]) => row);
  }

  function head(column) {
    const now = props.onSort ? props.sorted : own;
    const sortable = props.onSort ? column.sortable : column.sort;
    const direction = now?.key === column.key ? (now.descending ? "descending" : "ascending") : null;
    const look = `${column.numeric ? "numeric " : ""}${column.wide ? "wide " : ""}${column.class || ""}`.trim();
    const label = column.head ? column.head() : column.label;
    if (!sortable) return h("th", { key: column.key, scope: "col", class: look, title: column.title }, label);
    return h("th", { key: column.key, scope: "col", class: look, title: column.title, "aria-sort": direction || "none" },
      h("button", { class: "sort", type: "button", onclick: () => sortBy(column) }, label, icon(direction === "ascending" ? "up" : direction ? "down" : "sort")));
  }

  function draw() {
    const [first, last] = range();
    drawn = `${first}-${last}`;
    const virtual = isVirtual();
    const height = rowHeight();
    active = Math.min(active, Math.max(0, rows.length - 1));
    const start = active >= first && active < last ? active : first;
    const body = rows.slice(first, last).map((row, offset) => {
      const index = first + offset;
      const cells = props.columns.map((column, place) => {
        const extra = column.cell?.(row) || {};
        const look = `${column.numeric ? "numeric " : ""}${column.wide ? "wide " : ""}${column.class || ""} ${extra.class || ""}`.trim();
        return h(place === 0 && !virtual ? "th" : "td", { key: column.key, ...(place === 0 && !virtual ? { scope: "row" } : {}), class: look, style: extra.style, title: extra.title }, column.render(row, index));
      });
      return h("tr", {
        key: props.rowKey ? props.rowKey(row) : index,
        "data-index": index,
        tabindex: index === start ? 0 : -1,
        "aria-rowindex": virtual ? index + 2 : null,
        "aria-selected": props.isSelected ? String(props.isSelected(row)) : null,
        class: props.rowClass?.(row),
        onclick: props.onOpen ? (event) => event.target.closest("a, button, summary, input") || props.onOpen(row, index) : null,
      }, cells);
    });
    const spacer = (key, rowsMissing) => rowsMissing > 0 && h("tr", { key, class: "spacer", "aria-hidden": "true" }, h("td", { colspan: props.columns.length, style: { height: `${rowsMissing * height}px` } }));
    element.classList.toggle("virtual", virtual);
    patch(element, h("table", { role: "grid", class: props.class, "aria-label": props.label, "aria-rowcount": virtual ? (props.total ?? rows.length) + 1 : null },
      h("thead", null, h("tr", null, props.columns.map(head))),
      h("tbody", null, spacer("above", first), body, spacer("below", rows.length - last),
        !rows.length && h("tr", { key: "empty" }, h("td", { class: "empty", colspan: props.columns.length }, props.empty || "Nothing here.")))));
  }

  return {
    element,
    update(next) {
      const jump = next.jump && next.jump !== props.jump ? next.jump : null;
      props = next;
      prepare();
      draw();
      if (jump) {
        const index = rows.findIndex((row) => next.rowKey(row) === jump.key);
        if (index >= 0) {
          if (jump.focus) focusRow(index);
          else if (isVirtual()) element.scrollTop = Math.max(0, index * rowHeight() - element.clientHeight / 2);
        }
      }
    },
  };
}

// "Showing 100 of 2,310" with a button for more.
export function more(shown, total, next, onMore) {
  if (embedded) next = null;
  if (!next && (total === undefined || shown >= total)) return null;
  return h("p", { class: "more", key: "more" }, `Showing ${number(shown)}${total === undefined ? "" : ` of ${number(total)}`}`, next && h("button", { type: "button", class: "button", onclick: onMore }, "Show more"));
}
