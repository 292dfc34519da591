// Server-sent events: tells when the cluster has changed, at most once a second, and reconnects with growing pauses.
import { base } from "./answers.js";

const SILENCE = 60_000;
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 30_000;

export class Changes {
  constructor({ onChange, onState }) {
    this.onChange = onChange;
    this.onState = onState;
    this.failures = 0;
    this.stopped = true;
    this.dirty = false;
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && this.dirty) this.report();
    });
    window.addEventListener("online", () => this.reconnect());
  }

  start() {
    this.stopped = false;
    this.connect();
  }

  reconnect() {
    if (this.stopped || this.controller) return;
    clearTimeout(this.timer);
    this.connect();
  }

  async connect() {
    this.controller = new AbortController();
    try {
      const response = await fetch(`${base}/events`, { headers: { Accept: "text/event-stream" }, credentials: "same-origin", cache: "no-store", signal: this.controller.signal });
      if (!response.ok || !response.body) throw new Error(String(response.status));
      const again = this.failures > 0;
      this.failures = 0;
      this.onState({ state: "connected", again });
      await this.read(response.body.getReader());
    } catch {
      // Handled below, as the end of a stream is.
    }
    this.controller = null;
    clearTimeout(this.silence);
    if (this.stopped) return;
    const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** this.failures) * (0.8 + 0.4 * Math.random());
    this.failures += 1;
    this.onState({ state: "disconnected", retryAt: Date.now() + pause });
    this.timer = setTimeout(() => this.connect(), pause);
  }

  async read(reader) {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      clearTimeout(this.silence);
      this.silence = setTimeout(() => this.controller?.abort(), SILENCE);
      const { done, value } = await reader.read();
      if (done) return;
      rest = (rest + decoder.decode(value, { stream: true })).replaceAll("\r\n", "\n");
      const events = rest.split("\n\n");
      rest = events.pop().slice(-65_536);
      if (events.some((event) => /^event: ?change$/m.test(event))) this.report();
    }
  }

  report() {
    this.dirty = document.hidden;
    if (!document.hidden) this.onChange();
  }
}
