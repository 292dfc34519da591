"""Style of report pages: light and dark, readable on a telephone, contrast of WCAG AA. No external reference."""

from __future__ import annotations

from string import Template
from typing import Final

from kubewasp.lab.comparisons.charts import LEVELS

# Colours by name, light and dark. Texts have at least 4.5:1 on the background, series (s0 …) 3:1.
_COLOURS: Final = {
    "back": ("#fff", "#14171c"),
    "text": ("#1b1f24", "#e6edf3"),
    "soft": ("#57606a", "#a2acb8"),
    "line": ("#d0d7de", "#3a424d"),
    "good": ("#116329", "#6fdd8b"),
    "bad": ("#a40e26", "#ff9a92"),
    "s0": ("#0b57a4", "#7db8f5"),
    "s1": ("#b3430a", "#ffa36c"),
    "s2": ("#1b7a3d", "#7fd99a"),
    "s3": ("#8b2a8b", "#e59be5"),
    "s4": ("#8a6100", "#e8c15a"),
    "s5": ("#006d77", "#6fd3dc"),
    "s6": ("#b3124a", "#ff8fb0"),
    "s7": ("#5a4fcf", "#b3acff"),
}
_DASHES: Final = ("", "6 3", "2 3", "9 3 2 3", "1 4", "12 4", "4 4", "8 2 2 2 2 2")
_FAINTEST: Final = 0.08  # of a heat strip
_RULES: Final = Template("""
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1rem;background:$back;color:$text;font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;line-height:1.2}h2{font-size:1.15rem;margin-top:2rem}
p,li,h2{overflow-wrap:anywhere}bdi{unicode-bidi:isolate;overflow-wrap:anywhere}
.soft{color:$soft}.good{color:$good}.bad{color:$bad}
ul.candidates{list-style:none;padding:0}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.2rem .75rem .2rem 0;max-width:28rem}
th:first-child,td:first-child{min-width:min(13rem,40vw)}
tr{border-bottom:1px solid $line}
th.n,td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}.verdict{white-space:normal}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(19rem,100%),1fr));gap:1rem}
figure{margin:0}figcaption{font-size:.9rem;color:$soft}
svg{width:100%;height:auto;display:block}svg.swatch{width:28px;height:10px;display:inline-block;vertical-align:middle}
svg text{font:11px system-ui,sans-serif;fill:$soft;unicode-bidi:isolate}
.grid{stroke:$line;fill:none}.line{fill:none;stroke-width:1.8}.whisker{fill:none;stroke-width:2.5}
@media print{.wide{overflow:visible}}
""")


def style() -> str:
    """The style sheet."""
    variables = {name: f"var(--{name})" for name in _COLOURS}
    light, dark = ("".join(f"--{name}:{pair[mode]};" for name, pair in _COLOURS.items()) for mode in (0, 1))
    series = "".join(
        f".s{place}{{stroke:{variables[f's{place}']}}}.dot.s{place}{{fill:{variables[f's{place}']}}}"
        + (f".line.s{place}{{stroke-dasharray:{dash}}}" if dash else "")
        for place, dash in enumerate(_DASHES)
    )
    shades = (_FAINTEST + (1 - _FAINTEST) * level / LEVELS for level in range(LEVELS + 1))
    heat = "".join(
        f".h{level}{{fill:{variables['s0']};fill-opacity:{shade:.2f}}}" for level, shade in enumerate(shades)
    )
    modes = f":root{{color-scheme:light dark;{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return f"{modes}{_RULES.substitute(variables)}{series}\n{heat}"
