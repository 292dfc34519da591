// Colours of pictures, from custom properties of the style sheet: one ramp for amounts, a few hues for names.

const ramps = new Map();
const listeners = new Set();

export function theme() {
  return document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

export function onThemeChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function themeChanged() {
  ramps.clear();
  for (const listener of listeners) listener();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);

export function variable(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function rgb(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

export function colour(name) {
  const key = `colour ${name}`;
  if (!ramps.has(key)) ramps.set(key, rgb(variable(name)));
  return ramps.get(key);
}

// 256 colours between the stops of a ramp.
export function ramp(name = "--ramp") {
  if (ramps.has(name)) return ramps.get(name);
  const stops = variable(name).split(/\s+/).map(rgb);
  const table = Array.from({ length: 256 }, (_, index) => {
    const place = (index / 255) * (stops.length - 1);
    const first = Math.min(Math.floor(place), stops.length - 2);
    return stops[first].map((part, channel) => Math.round(part + (stops[first + 1][channel] - part) * (place - first)));
  });
  ramps.set(name, table);
  return table;
}

export const HUES = 8;

export function hue(index) {
  return colour(index < 0 || index >= HUES ? "--hue-other" : `--hue-${index + 1}`);
}

export function css([red, green, blue]) {
  return `rgb(${red} ${green} ${blue})`;
}

// Black or white, whichever is easier to read on a colour.
export function ink([red, green, blue]) {
  const [r, g, b] = [red, green, blue].map((part) => (part / 255 <= 0.04045 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}
