"""The plugins of the profiles: origin, version, signature, work, rollout."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from kubewasp.console.json_values import Document, name_of, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.console.console_source import PluginFacts, RolloutFacts


def plugins_document(found: Sequence[PluginFacts]) -> Document:
    return {"plugins": [_plugin(plugin) for plugin in found]}


def _plugin(plugin: PluginFacts) -> Document:
    document = asdict(plugin)
    for name in ("name", "source", "version", "digest"):
        document[name] = text_of(document[name]) or None
    document["name"] = name_of(plugin.name)
    document["profiles"] = [name_of(name) for name in plugin.profiles]
    document["hooks"] = list(plugin.hooks)
    document["signature"] = {"state": plugin.signature.state, "signer": text_of(plugin.signature.signer) or None}
    document["rollout"] = None if plugin.rollout is None else _rollout(plugin.rollout)
    return document


def _rollout(found: RolloutFacts) -> Document:
    return {
        "state": found.state,
        "step": text_of(found.step),
        "detail": [[text_of(name), text_of(text)] for name, text in found.detail],
        "actions": list(found.actions),
    }
