// One pod: where it is, what it asks for, and the way to its decision.
import { address } from "../address.js";
import { h, icon } from "../dom.js";
import { age, amount, moment, number, resourceName } from "../format.js";
import { badge, facts, heading, nodeLink, panel } from "../pieces.js";
import { message, name, sentence } from "../text.js";

export const pod = {
  title: ({ parts }) => `Pod ${parts[1] || ""}`,
  follows: true,
  load: ({ ask, run, at, parts }) => ask(`/pods/${parts[0]}/${parts[1]}`, { run, at }),
  render({ session, parts, now }, data) {
    const units = Object.fromEntries(session.resources.map((item) => [item.name, item.unit]));
    const texts = (items, empty) => (items?.length ? h("ul", { class: "plain-list" }, items.map((text, index) => h("li", { key: index }, sentence(text, 400)))) : h("p", { class: "none" }, empty));
    return [
      heading(name(parts[1], 120), ["Pod in namespace ", name(parts[0], 60)], h("a", { key: "explain", class: "button primary", href: address(["decision", ...parts.slice(0, 2)], data.decided_at === null || data.decided_at === undefined ? {} : { at: data.decided_at }) }, "Explain the decision", icon("right"))),
      h("div", { class: "columns" },
        panel("State", { class: "wide-panel" }, facts([
          ["State", data.node ? badge("placed") : badge(data.part || data.phase || "pending")],
          ["Node", data.node ? nodeLink(data.node) : null],
          ["Message", data.message ? message(data.message) : null],
          ["Created", data.created && `${moment(data.created)} (${age(data.created, now)})`],
          ["In this state", data.since && age(data.since, now)],
          ["Attempts", data.attempts === null || data.attempts === undefined ? null : number(data.attempts)],
          ["Priority", data.priority === null || data.priority === undefined ? null : number(data.priority)],
          ["Owner", data.owner ? name(data.owner) : null],
          ["Profile", data.profile ? name(data.profile) : null],
          ["UID", data.uid ? h("code", null, name(data.uid)) : null],
        ])),
        panel("Requests", null, data.requests?.length ? facts(data.requests.map((item) => [name(resourceName(item.resource), 60), amount(item.amount, units[item.resource])])) : h("p", { class: "none" }, "Requests nothing.")),
        panel("Selectors and affinity", null, texts(data.selectors, "Any node.")),
        panel("Tolerations", null, texts(data.tolerations, "None.")),
        panel("Labels", null, labels(data.labels)),
        data.annotations?.length && panel("Annotations (names)", null, texts(data.annotations, "None."))),
    ];
  },
};

export function labels(found) {
  const items = Object.entries(found || {});
  if (!items.length) return h("p", { class: "none" }, "None.");
  return h("ul", { class: "labels" }, items.map(([key, value]) => h("li", { key }, name(key, 80), h("span", { class: "equals" }, "="), name(value, 80))));
}
