"""Candidates on a command line: `[NAME=]BASE[,PLUGIN=WEIGHT…]`, BASE a configuration file, a guest or `default`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from kubewasp.cli.inputs import NAMED, exists
from kubewasp.framework.config.changes import MAX_WEIGHT
from kubewasp.lab.experiments.candidates import CandidateSource
from kubewasp.scheduler.configuration import AddedPlugin
from kubewasp.wasm.source import default_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kubewasp.cli.inputs import Inputs
    from kubewasp.input_file import InputFile

DEFAULT: Final = "default"
_CONFIGURATIONS: Final = (".yaml", ".yml", ".json")
_WEIGHT: Final = re.compile(r"(.*[^,]),([A-Za-z0-9][A-Za-z0-9._-]{0,62})=([^,=]*)", re.DOTALL)
_OWN_WEIGHT: Final = "weight"


def read(
    texts: Iterable[str],
    inputs: Inputs,
    *,
    config: InputFile | None = None,
    plugin_configs: Mapping[str, str] | None = None,
) -> list[CandidateSource]:
    """The candidates of a command line, with a name each.

    Args:
        texts: The arguments.
        inputs: Inputs of the command line.
        config: Configuration of candidates that are a guest or `default`.
        plugin_configs: `guestConfig` of guests by name, for all candidates with a plugin of that name.
    """
    found: list[CandidateSource] = []
    for text in texts:
        made = _candidate(text, inputs, config, plugin_configs or {})
        if any(other.name == made.name for other in found):
            problem = f"{text}: two candidates are named {made.name!r}; give one another name: NAME={text}"
            raise typer.BadParameter(problem)
        found.append(made)
    unused = set(plugin_configs or ()) - {plugin.name for made in found for plugin in made.plugins}
    if unused:
        raise typer.BadParameter(f"no candidate has a plugin {min(unused)!r}", param_hint="--plugin-config")
    return found


def _candidate(
    text: str, inputs: Inputs, config: InputFile | None, plugin_configs: Mapping[str, str]
) -> CandidateSource:
    base, weights = _split(text)
    name = ""
    if not exists(base) and (named := NAMED.fullmatch(base)):
        name, base = named[1], named[2]
    label = name or _label(text)
    own = weights.pop(_OWN_WEIGHT, 0)
    if base == DEFAULT or (base.endswith(_CONFIGURATIONS) and not Path(base).is_dir()):
        if own:
            raise typer.BadParameter(f"{text}: {_OWN_WEIGHT}= is for a guest; name the plugin: PLUGIN={own}")
        return CandidateSource(label, config if base == DEFAULT else inputs.file(Path(base)), weights=weights)
    guest = inputs.guest(base)
    plugin = AddedPlugin(name or default_name(guest), guest, own)
    configs = {plugin.name: plugin_configs[plugin.name]} if plugin.name in plugin_configs else {}
    return CandidateSource(label, config, (plugin,), configs, weights)


def _split(text: str) -> tuple[str, dict[str, int]]:
    """The base, and the weights after it in their order. An existing file is a base as a whole."""
    weights: dict[str, int] = {}
    while not exists(text) and (found := _WEIGHT.fullmatch(text)):
        text, plugin, given = found[1], found[2], found[3]
        if not (given.isascii() and given.isdigit() and len(given) <= 20 and int(given) <= MAX_WEIGHT):
            problem = f"weight of {plugin}: expected an integer from 0 to {MAX_WEIGHT}, got {given[:40]!r}"
            raise typer.BadParameter(problem)
        weights = {plugin: int(given), **weights}
    return text, weights


def _label(text: str) -> str:
    """The text without folders."""
    return text.rstrip("/").rpartition("/")[2]
