// Shortcuts of one or two keys, and the dialog that lists them. They can be switched off.
import { address } from "./address.js";
import { h, patch } from "./dom.js";

const places = [["o", "overview", "Overview"], ["p", "pending", "Pending"], ["d", "decision", "Decision"], ["m", "map", "Cluster map"], ["q", "queue", "Queue"], ["t", "timeline", "Timeline"], ["c", "compare", "Compare"], ["l", "plugins", "Plugins"]];

let dialog = null;
let isOn = remembered("kubewasp-shortcuts") !== "off";

export function remembered(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Kept for this page only.
  }
}

// actions: { search(), theme(), refresh(), view(key): bool }
export function startKeyboard(actions) {
  let afterG = 0;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !isOn || dialog?.open) return;
    if (event.target.closest("input:not([type=checkbox]):not([type=range]), textarea, select, [contenteditable]")) return;
    const { key } = event;
    if (Date.now() - afterG < 1500) {
      afterG = 0;
      const place = places.find(([letter]) => letter === key);
      if (place) {
        event.preventDefault();
        location.hash = address([place[1]]);
        return;
      }
    }
    if (key === "g") afterG = Date.now();
    else if (key === "/") actions.search();
    else if (key === "?") showHelp();
    else if (key === "t") actions.theme();
    else if (key === "r") actions.refresh();
    else if (key === " " && event.target.closest("button, a, summary, [role=grid], input")) return;
    else if (!actions.view(key)) return;
    if (key !== "g") event.preventDefault();
  });
}

export function showHelp() {
  if (!dialog) {
    dialog = document.createElement("dialog");
    dialog.className = "help-dialog";
    dialog.setAttribute("aria-labelledby", "help-title");
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    document.body.append(dialog);
  }
  const row = (keys, text) => h("tr", { key: text }, h("th", { scope: "row" }, keys.map((key, index) => [index > 0 && " ", h("kbd", { key: index }, key)])), h("td", null, text));
  const part = (title, rows) => h("section", { key: title }, h("h3", null, title), h("table", null, h("tbody", null, rows)));
  patch(dialog, [
    h("div", { class: "panel-head" }, h("h2", { id: "help-title" }, "Keyboard"), h("button", { type: "button", class: "button", onclick: () => dialog.close(), autofocus: true }, "Close")),
    h("div", { class: "help-columns" },
      part("Views", places.map(([letter, , text]) => row(["g", letter], text))),
      h("div", null,
        part("Anywhere", [row(["/"], "Search"), row(["r"], "Refresh"), row(["t"], "Light or dark"), row(["?"], "This list"), row(["Esc"], "Close, or leave the search")]),
        part("Tables", [row(["↑", "↓"], "Rows"), row(["←", "→"], "Links in a row"), row(["Home", "End"], "First or last row"), row(["Enter"], "Open")])),
      h("div", null,
        part("Maps", [row(["←", "↑", "↓", "→"], "Nodes"), row(["+", "−"], "Zoom"), row(["0"], "Whole cluster"), row(["Enter"], "Open the node")]),
        part("Timeline", [row(["Space"], "Play or pause"), row([",", "."], "One change back or forward"), row(["n"], "Next difference")]))),
    h("label", { class: "check" }, h("input", { type: "checkbox", checked: isOn, onchange: (event) => {
      isOn = event.target.checked;
      remember("kubewasp-shortcuts", isOn ? null : "off");
    } }), " Use shortcuts of single keys"),
  ]);
  dialog.showModal();
}
