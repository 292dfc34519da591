// Numbers, amounts of resources, durations and times as short texts.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0 });
const finePercent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
export const NONE = "–";

export function known(value) {
  return value !== null && value !== undefined;
}

export function number(value) {
  if (!known(value) || Number.isNaN(value)) return NONE;
  return Math.abs(value) >= 100 || Number.isInteger(value) ? whole.format(value) : fine.format(value);
}

export function fineShare(value) {
  return value === null || value === undefined ? NONE : finePercent.format(value);
}

// Only all of it is 100%, and only nothing 0%.
export function share(value) {
  if (value === null || value === undefined || value < 0) return NONE;
  if (value > 0.995 && value < 1) return finePercent.format(Math.min(value, 0.999));
  return value > 0 && value < 0.005 ? finePercent.format(Math.max(value, 0.001)) : percent.format(value);
}

export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

export function rate(value) {
  if (value === null || value === undefined) return NONE;
  if (value === 0 || value >= 0.5) return `${number(value)}/s`;
  return value * 60 >= 0.5 ? `${number(value * 60)}/min` : `${number(value * 3600)}/h`;
}

export function amount(value, unit) {
  if (value === null || value === undefined) return NONE;
  if (unit === "bytes") return bytes(value);
  if (unit === "cores") return `${number(value)} ${value === 1 ? "core" : "cores"}`;
  return number(value);
}

export function bytes(value) {
  if (value === null || value === undefined) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let index = 0;
  let rest = value;
  while (Math.abs(rest) >= 1024 && index < units.length - 1) {
    rest /= 1024;
    index += 1;
  }
  return `${fine.format(rest)} ${units[index]}`;
}

export function seconds(value) {
  if (value === null || value === undefined) return NONE;
  if (value === 0) return "0 s";
  if (value < 0.001) return `${fine.format(value * 1e6)} µs`;
  if (value < 1) return `${fine.format(value * 1e3)} ms`;
  if (value < 120) return `${fine.format(value)} s`;
  return span(value);
}

// Minutes and longer in two units: "3 h 12 min".
export function span(value) {
  const total = Math.max(0, Math.round(value));
  if (total < 60) return `${total} s`;
  const parts = [[Math.floor(total / 86400), "d"], [Math.floor((total % 86400) / 3600), "h"], [Math.floor((total % 3600) / 60), "min"]];
  const first = parts.findIndex(([value]) => value > 0);
  return parts.slice(first, first + 2).filter(([value]) => value > 0).map(([value, unit]) => `${value} ${unit}`).join(" ");
}

export function age(since, now) {
  const past = since && now ? (Date.parse(now) - Date.parse(since)) / 1000 : NaN;
  return Number.isNaN(past) ? NONE : past < 1 ? "just now" : span(past);
}

export function waited(since, now) {
  const text = age(since, now);
  return text === "just now" || text === NONE ? "just arrived" : `for ${text}`;
}

export function until(time, now) {
  const rest = time && now ? (Date.parse(time) - Date.parse(now)) / 1000 : NaN;
  return Number.isNaN(rest) ? NONE : rest <= 0 ? "due" : `in ${span(rest)}`;
}

export function clock(time) {
  const parsed = time ? new Date(time) : null;
  return !parsed || Number.isNaN(parsed.getTime()) ? NONE : parsed.toISOString().slice(11, 19);
}

// Times of a picture: with their day where they span more than one, as shares of the changes where they are all the same.
export function stamps(times) {
  const given = times.filter(Boolean);
  const length = given.length > 1 ? Date.parse(given.at(-1)) - Date.parse(given[0]) : 0;
  if (given.length > 2 && length === 0) return times.map((_, index) => (index === 0 ? "first change" : index === times.length - 1 ? "last" : percent.format(index / (times.length - 1))));
  const isLong = length > 20 * 3600e3;
  return isLong ? times.map((time) => (time ? `${time.slice(5, 10)} ${clock(time).slice(0, 5)}` : NONE)) : times.map(clock);
}

export function moment(time) {
  const parsed = time ? new Date(time) : null;
  return !parsed || Number.isNaN(parsed.getTime()) ? NONE : `${parsed.toISOString().slice(0, 10)} ${parsed.toISOString().slice(11, 19)} UTC`;
}

const resourceNames = { cpu: "CPU", memory: "Memory", "ephemeral-storage": "Ephemeral storage", pods: "Pods" };

export function resourceName(name) {
  return resourceNames[name] || (name === "nvidia.com/gpu" ? "GPU" : name);
}
