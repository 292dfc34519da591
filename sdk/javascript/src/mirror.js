// Mirror of the cluster in the guest, updated from request lines. HOT PATH.
//
// sdk/wit/README.md specifies the lines. Only the row and name of a line are parsed here, its JSON on first use.

import { NodeInfo } from "./node_info.js";
import { Pod } from "./objects.js";

/** Nodes by row, numbered lists of rows, and waiting pods. */
export class Mirror {
  #scheduler;
  #wantsPods;
  #rows = new Map();
  #lists = new Map();
  #rowLists = new Map();

  constructor(scheduler, { wantsPods, wantsWaitingPods }) {
    this.#scheduler = scheduler;
    this.#wantsPods = wantsPods;
    scheduler.waiting = wantsWaitingPods ? new Map() : null;
  }

  node(row) {
    return this.#rows.get(row);
  }

  /** The nodes of list `number`: of the given rows, or of its previous rows. */
  nodes(number, rows) {
    if (rows !== undefined) {
      this.#rowLists.set(number, rows);
      this.#lists.delete(number);
    }
    let listed = this.#lists.get(number);
    if (listed === undefined) {
      listed = this.#rowLists.get(number).map((row) => this.#rows.get(row));
      this.#lists.set(number, listed);
    }
    return listed;
  }

  /** Applies the lines about nodes and waiting pods. Returns all other lines, by letter. */
  update(lines) {
    const others = {};
    let node = null;
    let labels = "";
    let images = "";
    for (let place = 1; place < lines.length; place++) {
      const line = lines[place];
      const letter = line[0];
      const text = line.slice(2);
      if (letter === "n") {
        const space = text.indexOf(" ");
        node = this.#at(Number(text.slice(0, space)), JSON.parse(text.slice(space + 1)));
      } else if (letter === "l") {
        labels = text;
      } else if (letter === "i") {
        images = text;
      } else if (letter === "x") {
        this.#remove(Number(text));
      } else if (letter === "z") {
        for (const row of [...this.#rows.keys()]) this.#remove(row);
      } else if (letter === "w") {
        const [uid, json] = named(text);
        this.#scheduler.waiting?.set(uid, new Pod(json));
      } else if (node === null) {
        others[letter] = text;
      } else if (letter === "o") {
        node._replaceObject(text, labels, images);
        labels = images = "";
      } else if (letter === "r") {
        node._replaceNumbers(text);
      } else if (letter === "a") {
        const [uid, json] = named(text);
        node._pods.set(uid, new Pod(json));
      } else if (letter === "d") {
        node._pods.delete(JSON.parse(text));
      } else {
        others[letter] = text;
      }
    }
    return others;
  }

  /** Removes waiting pods that are not in the list. */
  keepWaiting(uids) {
    const known = this.#scheduler.waiting ?? new Map();
    this.#scheduler.waiting = new Map(uids.map((uid) => [uid, known.get(uid)]));
  }

  #at(row, name) {
    let node = this.#rows.get(row);
    if (node === undefined || node.name !== name) {
      this.#remove(row);
      node = new NodeInfo(name, this.#wantsPods);
      this.#rows.set(row, node);
      this.#scheduler.nodes._put(node);
    }
    return node;
  }

  #remove(row) {
    const node = this.#rows.get(row);
    if (node === undefined) return;
    this.#rows.delete(row);
    // The name may already be in another row.
    if (this.#scheduler.nodes.get(node.name) === node) this.#scheduler.nodes._remove(node.name);
    this.#lists.clear();
  }
}

/** A JSON string, a space, and the rest. */
function named(text) {
  let end = 1;
  while (text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
  return [JSON.parse(text.slice(0, end + 1)), text.slice(end + 2)];
}
