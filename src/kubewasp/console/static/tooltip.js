// One tooltip for pictures. It repeats what the keyboard and the table beside a picture give, so it is hidden from
// screen readers.
import { h, patch } from "./dom.js";

let element = null;

export function showTooltip(x, y, title, lines) {
  if (!element) {
    element = document.createElement("div");
    element.className = "tooltip";
    element.setAttribute("aria-hidden", "true");
    document.body.append(element);
  }
  patch(element, [h("strong", null, title), ...lines.map(([label, value]) => h("div", { class: "tooltip-line" }, h("span", null, label), h("span", null, value)))]);
  element.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = element;
  const left = x + 14 + width > innerWidth ? Math.max(8, x - width - 14) : x + 14;
  const top = y + 14 + height > innerHeight ? Math.max(8, y - height - 14) : y + 14;
  element.style.transform = `translate(${left}px, ${top}px)`;
}

export function hideTooltip() {
  if (element) element.hidden = true;
}
