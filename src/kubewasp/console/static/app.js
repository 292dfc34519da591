// The page: its frame, the open view, and how both follow the address and the cluster.
import { address, changed, parse } from "./address.js";
import { ask, embedded, signOut, useSession } from "./answers.js";
import { Changes } from "./changes.js";
import { h, icon, patch } from "./dom.js";
import { clock, number } from "./format.js";
import { remember, remembered, showHelp, startKeyboard } from "./keyboard.js";
import { theme, themeChanged } from "./palette.js";
import { heading, panel } from "./pieces.js";
import { name, visible } from "./text.js";
import { hideTooltip } from "./tooltip.js";
import { map } from "./views/clustermap.js";
import { compare } from "./views/compare.js";
import { decision } from "./views/decision.js";
import { node } from "./views/node.js";
import { overview } from "./views/overview.js";
import { pending } from "./views/pending.js";
import { plugins } from "./views/plugins.js";
import { pod } from "./views/pod.js";
import { queue } from "./views/queue.js";
import { search } from "./views/search.js";
import { timeline } from "./views/timeline.js";

const views = { overview, pending, decision, map, queue, timeline, compare, plugins, pod, node, search };
const navigation = [
  ["overview", "Overview"], ["pending", "Pending"], ["decision", "Decision"], ["map", "Cluster map"], ["queue", "Queue"],
  ["timeline", "Timeline", "timeline"], ["compare", "Compare", "compare"], ["plugins", "Plugins"],
];
const modes = { live: "Live", simulation: "Simulation", snapshot: "Snapshot", recording: "Recording", comparison: "Comparison" };
const REFRESH_PAUSE = 1_000;
const SETTLING_PAUSE = 3_500;

const app = document.getElementById("app");
const polite = document.getElementById("announcements");
const state = { session: null, open: null, connection: embedded ? { state: "file" } : { state: "connecting" }, toast: null, menu: false, offset: 0 };

// ---- the open view

function contextOf(open) {
  const { route, memory } = open;
  return {
    session: state.session, parts: route.parts, params: route.params, memory, ask: (path, query) => ask(path, query, open.controller?.signal),
    signal: open.controller?.signal, run: route.params.get("run"), at: route.params.get("at"), now: nowText(open.data),
    go: (to) => {
      location.hash = to;
    },
    change, announce, redraw: () => open === state.open && draw(), reload: () => load(open), current: () => contextOf(state.open),
  };
}

// The time of the cluster: that of the answer, of the session, or of this machine for a live one.
function nowText(data) {
  if (data?.time) return data.time;
  if (state.session?.mode === "live" && !embedded) return new Date(Date.now() + state.offset).toISOString();
  return state.session?.now;
}

let changing = 0;
let lastChange = 0;

function change(params, { replace = false, delay = 0, throttle = false, then } = {}) {
  clearTimeout(changing);
  const wait = throttle ? Math.max(0, delay - (Date.now() - lastChange)) : delay;
  const apply = () => {
    lastChange = Date.now();
    const to = changed(params);
    if (to !== location.hash) {
      if (replace) history.replaceState(null, "", to);
      else history.pushState(null, "", to);
      follow().then(then);
    } else then?.();
  };
  if (wait) changing = setTimeout(apply, wait);
  else apply();
}

function placeOf(route) {
  return `${route.view}/${route.parts.join("/")}`;
}

let followed = null;

function onAddress() {
  if (location.hash !== followed) follow();
}

async function follow() {
  followed = location.hash;
  const route = parse();
  const before = state.open;
  const place = placeOf(route);
  if (before && before.place === place) {
    const run = before.route.params.get("run");
    before.route = route;
    if (route.params.get("run") !== run) before.memory = {};
    return load(before);
  }
  if (before) {
    before.controller?.abort();
    clearTimeout(before.timer);
    views[before.route.view]?.leave?.(contextOf(before));
  }
  hideTooltip();
  state.menu = false;
  const open = { route, place, memory: {}, data: null, error: null, loading: false, fresh: true };
  state.open = open;
  const view = views[route.view];
  if (!view) {
    open.error = { message: "There is no such view.", hint: "The address may be cut." };
    draw();
    return undefined;
  }
  open.skeleton = setTimeout(() => {
    if (state.open === open && !open.data && !open.error) draw();
  }, 200);
  await load(open);
  if (state.open !== open) return undefined;
  scrollTo(0, 0);
  if (before) app.querySelector("h1")?.focus({ preventScroll: true });
  return undefined;
}

async function load(open) {
  if (!state.session) return;
  open.controller?.abort();
  const controller = new AbortController();
  open.controller = controller;
  open.loading = true;
  open.stale = false;
  let data = null;
  let failed = null;
  try {
    data = await views[open.route.view].load(contextOf(open));
  } catch (error) {
    if (error.name === "AbortError") return;
    failed = error;
  }
  if (state.open !== open || open.controller !== controller) return;
  open.loading = false;
  if (failed && failed.code === 0 && open.data) setConnection({ ...state.connection, state: "disconnected" });
  else if (failed) open.error = failed;
  if (data) {
    open.data = data;
    open.error = null;
    // Without events, answers tell that the server is back.
    if (!embedded && !state.session.capabilities.events && state.connection.state === "disconnected") setConnection({ state: "connected" });
  }
  if (failed && failed.code === undefined) throw failed;
  draw();
  if (open.missed) {
    open.missed = false;
    onChange();
  }
}

// The cluster has changed: the open view follows, no more than once a second and never two at a time.
function onChange() {
  const open = state.open;
  if (!open || !state.session) return;
  const view = views[open.route.view];
  if (open.route.params.get("at") !== null) return;
  if (view.follows === false) {
    if (!open.stale && open.data) {
      open.stale = true;
      draw();
    }
    return;
  }
  if (open.timer) return;
  open.timer = setTimeout(() => {
    open.timer = null;
    if (state.open !== open) return;
    open.refreshed = Date.now();
    if (open.loading) open.missed = true;
    else load(open);
    // The server may have answered with a picture from before the change: once more when all is quiet.
    clearTimeout(open.settling);
    open.settling = setTimeout(() => state.open === open && !open.loading && state.connection.state === "connected" && load(open), SETTLING_PAUSE);
  }, Math.max(0, REFRESH_PAUSE - (Date.now() - (open.refreshed || 0))));
}

// ---- connection

function setConnection(next) {
  const before = state.connection.state;
  state.connection = next;
  if (before === "connected" && next.state === "disconnected") announce("Disconnected. What is shown stays, and the page goes on trying.");
  if (next.again) {
    announce("Connected again.");
    refresh();
  }
  draw();
}

let countdown = 0;

function connectionLook() {
  const { connection, session } = state;
  clearTimeout(countdown);
  if (connection.state === "file") return h("span", { class: "status" }, icon("file"), "File");
  if (connection.state === "disconnected") {
    const rest = Math.max(0, Math.ceil(((connection.retryAt || 0) - Date.now()) / 1000));
    countdown = setTimeout(drawFrame, 1000);
    return h("span", { class: "status lost" }, icon("cross"), h("span", null, "Disconnected", h("span", { class: "status-more", "aria-hidden": "true" }, rest > 0 ? `, next try in ${number(rest)} s` : connection.retryAt ? ", trying" : "")));
  }
  if (connection.state === "connecting") return h("span", { class: "status" }, icon("dot"), "Connecting");
  return h("span", { class: "status live" }, icon("check"), session?.mode === "live" ? "Live" : "Connected");
}

function announce(text, show = false) {
  const shown = visible(text, 300);
  polite.textContent = "";
  requestAnimationFrame(() => {
    polite.textContent = shown;
  });
  if (!show) return;
  clearTimeout(state.toastTimer);
  state.toast = shown;
  state.toastTimer = setTimeout(() => {
    state.toast = null;
    draw();
  }, 6000);
  draw();
}

// ---- drawing

function drawFrame() {
  const slot = app.querySelector(".connection");
  if (slot) patch(slot, connectionLook());
}

function draw() {
  const { session, open } = state;
  if (!open) return;
  const view = views[open.route.view];
  const here = open.route.view === "pod" ? "decision" : open.route.view === "node" ? "map" : open.route.view;
  document.title = `${view ? visible(view.title(open.route), 80) : "Not found"} · kubewasp`;
  patch(app, [
    h("header", { class: "top", key: "top" },
      h("button", { type: "button", class: "button square menu-button", "aria-label": "Menu", "aria-expanded": String(state.menu), "aria-controls": "navigation", onclick: () => {
        state.menu = !state.menu;
        draw();
      } }, icon("menu")),
      h("a", { class: "brand", href: "#/overview", "aria-label": "kubewasp, overview" }, h("svg", { class: "logo", "aria-hidden": "true" }, h("use", { href: "#logo" })), h("span", null, "kubewasp")),
      session && h("span", { class: "title" }, h("span", { class: "mode" }, modes[session.mode] || session.mode), session.title && name(session.title, 60)),
      session && session.runs.length > 1 && h("label", { class: "field inline run" }, h("span", { class: "hidden" }, "Run"), h("select", { value: open.route.params.get("run") || session.runs[0].id, onchange: (event) => change({ run: event.target.value === session.runs[0].id ? null : event.target.value }) },
        session.runs.map((run) => h("option", { key: run.id, value: run.id, selected: run.id === (open.route.params.get("run") || session.runs[0].id) }, visible(run.name, 50))))),
      h("form", { class: "search", role: "search", onsubmit: (event) => {
        event.preventDefault();
        find(event.target.elements.q.value, false);
      } }, icon("search"), h("input", { name: "q", type: "search", placeholder: "Search pods, nodes, plugins", "aria-label": "Search pods, nodes and plugins", autocomplete: "off", spellcheck: "false", value: open.route.view === "search" ? open.route.params.get("q") || "" : "", oninput: (event) => find(event.target.value, true), onkeydown: (event) => {
        if (event.key === "Escape") event.target.blur();
        if (event.key === "ArrowDown") {
          event.preventDefault();
          app.querySelector("main tbody tr[tabindex='0']")?.focus();
        }
      } }), h("kbd", { "aria-hidden": "true" }, "/")),
      h("span", { class: "connection" }, connectionLook()),
      session?.viewer && h("button", { type: "button", class: "button square", "aria-label": `Sign out ${visible(session.viewer, 60)}`, title: `Sign out ${visible(session.viewer, 60)}`, onclick: leave }, icon("leave")),
      h("button", { type: "button", class: "button square", "aria-label": theme() === "dark" ? "Light colours" : "Dark colours", title: "Light or dark (t)", onclick: switchTheme }, icon(theme() === "dark" ? "sun" : "moon")),
      h("button", { type: "button", class: "button square keys", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)", onclick: showHelp }, icon("keyboard"))),
    h("nav", { key: "nav", id: "navigation", class: `side ${state.menu ? "open" : ""}`, "aria-label": "Views" }, h("ul", null, navigation.filter(([, , needs]) => !needs || !session || session.capabilities[needs]).map(([key, label]) =>
      h("li", { key }, h("a", { href: address([key]), "aria-current": key === here ? "page" : null, onclick: () => {
        state.menu = false;
      } }, icon(key), label)))), session && h("p", { class: "version" }, `kubewasp ${visible(session.version, 30)}`)),
    h("main", { key: "main", id: "main", tabindex: -1, "aria-busy": open.loading ? "true" : null, class: `view-${open.route.view}` },
      moment(open), open.stale && h("p", { key: "stale", class: "banner" }, icon("clock"), h("span", null, "The cluster has changed since."), h("button", { type: "button", class: "button small", onclick: refresh }, "Refresh")),
      h("div", { key: open.place, class: "view", "data-view": open.route.view }, content(open, view))),
    h("div", { key: "toast", class: `toast ${state.toast ? "shown" : ""}`, "aria-hidden": "true" }, state.toast),
  ]);
}

function moment(open) {
  const at = open.route.params.get("at");
  if (at === null || open.route.view === "timeline") return null;
  return h("p", { key: "moment", class: "banner" }, icon("clock"), h("span", null, `As it was after change ${visible(at, 20)}${open.data?.time ? `, ${clock(open.data.time)}` : ""}.`),
    h("a", { class: "button small", href: address(["timeline"]) }, "Timeline"), h("button", { type: "button", class: "button small", onclick: () => change({ at: null }) }, "To the end"));
}

function content(open, view) {
  if (open.error) return failure(open);
  if (!open.data) return h("div", { class: "skeleton", key: "skeleton" }, h("h1", { tabindex: -1 }, view ? visible(view.title(open.route), 80) : ""), h("p", { class: "soft" }, "Loading"), h("div", { "aria-hidden": "true" }, [1, 2, 3].map((index) => h("div", { key: index, class: "bone" }))));
  return view.render(contextOf(open), open.data);
}

function failure(open) {
  const { error } = open;
  const titles = { 0: "No answer", 401: "Sign in", 403: "Not allowed", 404: "Not found" };
  return [
    heading(titles[error.code] || "That did not work"),
    panel(null, { class: "blank", key: "failure" }, h("p", null, visible(error.message, 600)), error.hint && h("p", { class: "soft" }, visible(error.hint, 600)),
      // The server exchanges a token for a cookie: no script of a page has it.
      error.code === 401 && h("p", null, h("button", { type: "button", class: "button primary", onclick: signIn }, "Sign in")),
      error.code !== 401 && h("p", { class: "row" }, h("button", { type: "button", class: "button", onclick: () => (state.session ? load(open) : start()) }, "Try again"), h("a", { class: "button", href: "#/overview" }, "Overview"))),
  ];
}

// ---- actions

function find(text, typing) {
  const to = address(["search"], { q: text.trim() });
  if (typing && !text.trim()) return;
  clearTimeout(find.timer);
  find.timer = setTimeout(() => {
    if (state.open.route.view === "search") {
      history.replaceState(null, "", to);
      follow();
    } else {
      const field = document.activeElement;
      history.pushState(null, "", to);
      follow().then(() => typing && field.focus());
    }
  }, typing ? 180 : 0);
}

function refresh() {
  if (state.open && state.session) load(state.open);
}

function switchTheme() {
  const next = theme() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  remember("kubewasp-theme", next);
  themeChanged();
  draw();
}

// The form of the server has no script: the address waits here while a token is given.
const WAITING_ADDRESS = "kubewasp-address";

function signIn() {
  if (location.hash) sessionStorage.setItem(WAITING_ADDRESS, location.hash);
  location.assign("sign-in");
}

async function leave() {
  await signOut();
  sessionStorage.removeItem(WAITING_ADDRESS);
  location.assign("sign-in");
}

function returnToAddress() {
  const waiting = sessionStorage.getItem(WAITING_ADDRESS);
  sessionStorage.removeItem(WAITING_ADDRESS);
  if (waiting && !location.hash) history.replaceState(null, "", waiting);
}

async function start() {
  try {
    state.session = await ask("/session");
    if (!embedded) returnToAddress();
  } catch (error) {
    if (error.code === 401) {
      signIn();
      return;
    }
    state.open = { route: parse(), place: placeOf(parse()), memory: {}, data: null, error };
    setConnection({ state: embedded ? "file" : "connecting" });
    if (error.code === 0) setTimeout(() => state.session || start(), 2_000);
    return;
  }
  useSession(state.session);
  state.offset = Date.parse(state.session.now) - Date.now() || 0;
  if (state.open) state.open.place = null;
  await follow();
  if (!embedded && state.session.capabilities.events && changes.stopped) changes.start();
  else if (!embedded && !state.session.capabilities.events) setConnection({ state: "connected" });
}

const changes = new Changes({ onChange, onState: setConnection });

document.documentElement.dataset.theme = remembered("kubewasp-theme") || "";
if (!document.documentElement.dataset.theme) delete document.documentElement.dataset.theme;
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
});
addEventListener("hashchange", onAddress);
addEventListener("popstate", onAddress);
startKeyboard({
  search: () => app.querySelector(".search input")?.focus(),
  theme: switchTheme,
  refresh,
  view(key) {
    const act = state.open?.data && views[state.open.route.view]?.keys?.[key];
    if (act) act(contextOf(state.open));
    return Boolean(act);
  },
});
start();
