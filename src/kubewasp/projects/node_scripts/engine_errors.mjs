// Errors of the engine while it runs the top level of a plugin, in the words of the plugin's author.

const TABLE = /^globalThis\.kubewaspSourceLines = (.*);$/m;
// Labels of the tools and of the engine around the error; a rejected module is reported a second time.
const LABEL = /^(?:Failed to initialize component|Exception while|Additionally, some promises|Promise rejected but|Stack:|\(truncated)/;

/** The text of an error, with files and lines of the author instead of those of the bundle. */
export function explained(text, bundle) {
  if (text.includes("does not export a")) {
    return "the top level of the plugin does not end; it may await values of its own modules only";
  }
  const places = placesIn(bundle);
  const lines = text.split("\n").filter((line) => line.trim() && !LABEL.test(line.trim()));
  const known = lines.map((line) => line.replace(/\bsource\.js:(\d+):\d+/g, (found, number) => places(Number(number)) || found));
  const frames = known.filter((line) => !/^\s*\S*@(?:source\.js:|\/initializer\.js)/.test(line));
  return [...new Set(frames)].join("\n").trim() || text;
}

/** File and line of the author for a line of the bundle; empty for other lines. */
function placesIn(bundle) {
  const table = TABLE.exec(bundle)?.[1];
  const { files, lines } = table ? JSON.parse(table) : { files: [], lines: [] };
  return (number) => {
    const place = lines[number - 1];
    return place ? `${files[place[0]]}:${place[1]}` : "";
  };
}
