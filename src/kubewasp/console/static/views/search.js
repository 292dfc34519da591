// Search over pods, nodes and plugins.
import { address, nodeAddress, podAddress } from "../address.js";
import { h, icon } from "../dom.js";
import { count } from "../format.js";
import { heading, panel } from "../pieces.js";
import { table } from "../table.js";
import { name, sentence, visible } from "../text.js";

export const search = {
  title: ({ params }) => `Search ${visible(params.get("q") || "", 40)}`,
  async load({ ask, run, at, params }) {
    const q = (params.get("q") || "").trim();
    return q ? ask("/search", { run, at, q }) : { results: null };
  },
  render({ params }, data) {
    const q = params.get("q") || "";
    if (!data.results) return [heading("Search", "Type a part of a name of a pod, node or plugin above.")];
    return [
      heading(["Search: ", name(q, 60)], data.results.length >= 50 ? "The first 50 results; a longer text narrows them." : count(data.results.length, "result")),
      panel(null, { class: "flush", key: "results" }, table({
        key: "results", label: "Results", rows: data.results, rowKey: (row) => `${row.kind} ${row.key}`, empty: "Nothing has this in its name.",
        columns: [
          { key: "kind", label: "Kind", class: "narrow", render: (row) => h("span", { class: "kind" }, icon(row.kind), row.kind) },
          { key: "key", label: "Name", render: (row) => h("a", { href: link(row), class: "object" }, name(row.key, 90)) },
          { key: "detail", label: "", class: "grow soft", wide: true, render: (row) => (row.detail ? sentence(row.detail, 160) : "") },
        ].map((column) => (column.label ? column : { ...column, label: "Detail" })),
      })),
    ];
  },
};

function link({ kind, key }) {
  if (kind === "pod") return podAddress(key);
  return kind === "node" ? nodeAddress(key) : address(["plugins"], { plugin: key });
}
