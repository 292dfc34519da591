// Plugins: version, digest, signature, hooks, time, errors, memory, and the rollout with its actions.
import { act } from "../answers.js";
import { address } from "../address.js";
import { h, icon } from "../dom.js";
import { bytes, count, known, number, seconds } from "../format.js";
import { badge, facts, heading, panel } from "../pieces.js";
import { table } from "../table.js";
import { name, sentence, visible } from "../text.js";

const origins = { "built-in": "built-in", wasm: "wasm", python: "Python" };

export const plugins = {
  title: () => "Plugins",
  follows: true,
  load: ({ ask, run }) => ask("/plugins", { run }),
  render(context, data) {
    const chosen = context.params.get("plugin");
    const guests = data.plugins.filter((item) => item.origin !== "built-in" || item.name === chosen);
    guests.sort((first, second) => (second.name === chosen) - (first.name === chosen));
    const wasm = data.plugins.filter((item) => item.origin === "wasm").length;
    return [
      heading("Plugins", `${count(data.plugins.length, "plugin")}, ${number(wasm)} of them wasm.`),
      h("div", { class: "cards", key: "cards" }, guests.map((item) => card(context, item, item.name === chosen))),
      panel("All plugins", { class: "flush", key: "all" }, table({
        key: "plugins", label: "All plugins", rows: data.plugins, rowKey: (row) => row.name, isSelected: (row) => row.name === chosen,
        columns: [
          { key: "name", label: "Plugin", render: (row) => h("a", { href: address(["plugins"], { plugin: row.name }), class: "object" }, name(row.name, 48)), sort: (row) => row.name },
          { key: "origin", label: "Origin", wide: true, render: (row) => origins[row.origin] || row.origin, sort: (row) => row.origin },
          { key: "weight", label: "Weight", numeric: true, render: (row) => (row.weight ? number(row.weight) : "–"), sort: (row) => row.weight },
          { key: "hooks", label: "Hooks", class: "grow", wide: true, render: (row) => h("span", { class: "soft" }, visible(row.hooks.join(", "), 90)) },
          { key: "calls", label: "Calls", numeric: true, wide: true, render: (row) => number(row.calls), sort: (row) => row.calls },
          data.plugins.some((row) => known(row.errors) || row.timeouts) && { key: "errors", label: "Errors", numeric: true, render: (row) => (row.errors || row.timeouts ? h("span", { class: "warn-text" }, icon("alert"), number((row.errors || 0) + (row.timeouts || 0))) : number(row.errors)), sort: (row) => (row.errors || 0) + (row.timeouts || 0) },
          { key: "seconds", label: "Time", numeric: true, render: (row) => seconds(row.seconds), sort: (row) => row.seconds },
          data.plugins.some((row) => known(row.p99)) && { key: "p99", label: "p99", numeric: true, wide: true, render: (row) => seconds(row.p99), sort: (row) => row.p99 },
        ].filter(Boolean),
      })),
    ];
  },
};

function card(context, item, isChosen) {
  const { signature, rollout } = item;
  return h("section", { class: `panel card ${isChosen ? "chosen" : ""}`, key: item.name },
    h("div", { class: "panel-head" }, h("h2", null, name(item.name, 60)), h("span", { class: "row" }, badge(origins[item.origin] || item.origin, "plain"), signature && signature.state !== "not-required" && (signature.state !== "unknown" || context.session.mode === "live") && badge(signature.state === "unknown" ? "signature unknown" : signature.state, signature.state === "verified" ? "good" : signature.state === "unsigned" ? "warn" : "plain"))),
    rollout && rolloutOf(context, item),
    facts([
      ["Version", item.version && name(item.version, 60)],
      ["Source", item.source && name(item.source, 120)],
      ["Digest", item.digest && h("code", { class: "digest", title: visible(item.digest, 200) }, visible(item.digest, 24))],
      ["Signer", signature?.signer && name(signature.signer, 80)],
      ["Profiles", item.profiles?.length ? visible(item.profiles.join(", "), 200) : null],
      ["Weight", item.weight === null || item.weight === undefined ? null : number(item.weight)],
      ["Calls", item.calls === null || item.calls === undefined ? null : [number(item.calls), known(item.errors) && `, ${count(item.errors, "error")}`, known(item.timeouts) && `, ${count(item.timeouts, "timeout")}`]],
      ["Time", item.seconds === null || item.seconds === undefined ? null : [seconds(item.seconds), known(item.p50) && `, p50 ${seconds(item.p50)}`, known(item.p99) && `, p99 ${seconds(item.p99)}`]],
      ["Memory", item.memory === null || item.memory === undefined ? null : bytes(item.memory)],
    ]),
    item.hooks?.length > 0 && h("ul", { class: "chips", "aria-label": "Hooks" }, item.hooks.map((hook) => h("li", { key: hook, class: "chip" }, visible(hook, 40)))));
}

function rolloutOf(context, item) {
  const { memory, redraw, session } = context;
  const { rollout } = item;
  const allowed = session.capabilities.actions ? rollout.actions || [] : [];
  const asked = memory.asked?.plugin === item.name ? memory.asked.action : null;
  const ask = (action) => {
    memory.asked = { plugin: item.name, action };
    redraw();
    requestAnimationFrame(() => document.querySelector(".confirm .primary")?.focus());
  };
  const run = async () => {
    memory.asked = null;
    try {
      const done = await act(`/plugins/${item.name}/${asked}`);
      context.announce(`${item.name}: ${done.state}`, true);
      await context.reload();
    } catch (error) {
      context.announce(error.hint ? `${error.message} ${error.hint}` : error.message, true);
    }
    redraw();
  };
  return h("div", { class: "rollout" }, h("p", null, badge("rollout"), " ", h("strong", null, visible(rollout.state, 60)), rollout.step ? `, ${visible(rollout.step, 120)}` : ""),
    facts((rollout.detail || []).map(([label, text]) => [visible(label, 40), sentence(text, 200)])),
    allowed.length > 0 && !asked && h("div", { class: "row" }, allowed.includes("promote") && h("button", { type: "button", class: "button primary", onclick: () => ask("promote") }, "Promote…"), allowed.includes("abort") && h("button", { type: "button", class: "button", onclick: () => ask("abort") }, "Abort…")),
    asked && h("div", { class: "confirm", role: "group", "aria-label": `${asked} the rollout`, onkeydown: (event) => {
      if (event.key !== "Escape") return;
      memory.asked = null;
      redraw();
    } }, h("p", null, asked === "promote" ? "Use the new version for every pod from now on?" : "Go back to the version before?"), h("div", { class: "row" },
      h("button", { type: "button", class: "button primary", onclick: run }, asked === "promote" ? "Promote" : "Abort the rollout"), h("button", { type: "button", class: "button", onclick: () => {
        memory.asked = null;
        redraw();
      } }, "Cancel"))));
}
