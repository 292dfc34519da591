"""Candidates: configurations to try, each made of a file or the default, plugins, weights and arguments."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kubewasp.framework.config.changes import with_args, with_weight
from kubewasp.lab.experiments.experiment import Candidate
from kubewasp.scheduler.configuration import configure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubewasp.input_file import InputFile
    from kubewasp.scheduler.configuration import AddedPlugin


@dataclass(frozen=True, slots=True)
class CandidateSource:
    """Parts of a candidate.

    Args:
        name: Its name in reports.
        config: A configuration file; None is kube-scheduler's default configuration.
        plugins: Wasm plugins beside it.
        plugin_configs: Their `guestConfig` by name.
        weights: Weights of plugins by name, also of built-in ones; 0: the plugin does not score.
        args: Arguments of plugins by name: fields that change, or the whole `guestConfig` as a text.
    """

    name: str
    config: InputFile | None = None
    plugins: tuple[AddedPlugin, ...] = ()
    plugin_configs: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, int] = field(default_factory=dict)
    args: Mapping[str, Mapping[str, Any] | str] = field(default_factory=dict)

    def with_guests(self, guest_of: Callable[[str], str]) -> CandidateSource:
        """The same with other addresses of guests: `guest_of` gives the wasm of a plugin project, for instance."""
        plugins = [
            replace(plugin, guest=guest_of(plugin.guest)) if isinstance(plugin.guest, str) else plugin
            for plugin in self.plugins
        ]
        return replace(self, plugins=tuple(plugins))

    def candidate(self) -> Candidate:
        """The configuration read, with all changes applied."""
        settings, added = configure(self.config, self.plugins, self.plugin_configs)
        for plugin, given in self.args.items():
            settings = with_args(settings, plugin, given)
        for plugin, weight in self.weights.items():
            settings = with_weight(settings, plugin, weight)
        return Candidate(self.name, settings, tuple(added))
