// A small virtual tree: elements are described by h(), and patch() changes the page to match. Elements that stay keep
// their focus, scroll position and input. Data becomes text nodes and attributes only, never markup.

const svgNamespace = document.querySelector("svg").namespaceURI;
const svgTags = new Set(["svg", "path", "g", "line", "rect", "circle", "polyline", "text", "use", "title", "defs"]);
const properties = new Set(["value", "checked", "disabled", "hidden", "selected", "open", "indeterminate"]);

export function h(tag, props, ...children) {
  return { type: tag, props: props || {}, key: props?.key, children: flatten(children, []) };
}

// A part of the page with a state of its own: create() gives { element, update(props), destroy?() }.
export function island(create, props) {
  return { type: create, props, key: props?.key, children: [] };
}

function flatten(items, into) {
  for (const item of items) {
    if (Array.isArray(item)) flatten(item, into);
    else if (item === null || item === undefined || item === false || item === true) continue;
    else if (typeof item === "object") into.push(item);
    else into.push({ type: "#text", props: { text: String(item) }, children: [] });
  }
  return into;
}

const mounted = new WeakMap();

export function patch(parent, children) {
  const focused = document.activeElement;
  reconcile(parent, flatten([children], []), parent.namespaceURI === svgNamespace);
  // A moved element loses the focus to the body.
  if (focused && focused !== document.body && document.activeElement === document.body && focused.isConnected) focused.focus({ preventScroll: true });
}

function identify(nodes) {
  const counts = new Map();
  const identities = new Map();
  return nodes.map((vnode) => {
    let kind = vnode.type;
    if (typeof kind === "function") {
      if (!identities.has(kind)) identities.set(kind, `island-${kind.name}`);
      kind = identities.get(kind);
    }
    if (vnode.key !== undefined) return `${kind}=${vnode.key}`;
    const number = counts.get(kind) || 0;
    counts.set(kind, number + 1);
    return `${kind}#${number}`;
  });
}

function reconcile(parent, next, inSvg) {
  const before = mounted.get(parent) || [];
  const names = identify(next);
  const beforeNames = identify(before);
  const found = new Map();
  before.forEach((vnode, index) => found.set(beforeNames[index], vnode));
  const pairs = next.map((vnode, index) => {
    const old = found.get(names[index]);
    if (old) found.delete(names[index]);
    return [vnode, old];
  });
  const kept = new Set(pairs.map(([, old]) => old));
  for (const vnode of before) if (!kept.has(vnode)) remove(vnode);
  let cursor = parent.firstChild;
  for (const [vnode, old] of pairs) {
    if (old) update(vnode, old, inSvg);
    else create(vnode, inSvg);
    if (vnode.node === cursor) cursor = cursor.nextSibling;
    else parent.insertBefore(vnode.node, cursor);
    if (!old) vnode.props.mount?.(vnode.node);
  }
  mounted.set(parent, next);
}

function create(vnode, inSvg) {
  if (vnode.type === "#text") {
    vnode.node = document.createTextNode(vnode.props.text);
    return;
  }
  if (typeof vnode.type === "function") {
    vnode.instance = vnode.type(vnode.props);
    vnode.node = vnode.instance.element;
    vnode.instance.update(vnode.props);
    return;
  }
  const svg = inSvg || vnode.type === "svg";
  vnode.node = svg && svgTags.has(vnode.type) ? document.createElementNS(svgNamespace, vnode.type) : document.createElement(vnode.type);
  reconcile(vnode.node, vnode.children, svg);
  setAll(vnode.node, {}, vnode.props);
}

function update(vnode, old, inSvg) {
  vnode.node = old.node;
  if (vnode.type === "#text") {
    if (old.props.text !== vnode.props.text) vnode.node.data = vnode.props.text;
    return;
  }
  if (typeof vnode.type === "function") {
    vnode.instance = old.instance;
    vnode.instance.update(vnode.props);
    return;
  }
  reconcile(vnode.node, vnode.children, inSvg || vnode.type === "svg");
  setAll(vnode.node, old.props, vnode.props);
}

function remove(vnode) {
  release(vnode);
  vnode.node.remove();
}

function release(vnode) {
  vnode.instance?.destroy?.();
  const inner = typeof vnode.type === "function" ? mounted.get(vnode.node) || [] : vnode.children;
  inner.forEach(release);
}

function setAll(node, before, after) {
  for (const name in before) if (!(name in after)) set(node, name, null, before[name]);
  for (const name in after) set(node, name, after[name], before[name]);
}

function set(node, name, value, before) {
  if (name === "key" || name === "mount") return;
  if (name.startsWith("on")) {
    node[name] = value;
  } else if (name === "style") {
    for (const part in before || {}) if (!value || !(part in value)) node.style.removeProperty(part);
    for (const part in value || {}) if (!before || before[part] !== value[part]) node.style.setProperty(part, value[part]);
  } else if (properties.has(name) && !(name === "value" && node.tagName === "LI")) {
    // An input that is being edited keeps what was typed.
    if (name === "value" && node === document.activeElement && node.tagName === "INPUT" && node.type !== "range") return;
    if (name === "open" && before === value) return; // a disclosure belongs to the reader once it is there
    if (node[name] !== value) node[name] = value ?? (name === "value" ? "" : false);
  } else if (value === null || value === undefined || value === false) {
    if (before !== undefined) node.removeAttribute(name);
  } else if (value !== before) {
    node.setAttribute(name, value === true ? "" : String(value));
  }
}

export function icon(name) {
  return h("svg", { class: "icon", "aria-hidden": "true", focusable: "false" }, h("use", { href: `#icon-${name}` }));
}
