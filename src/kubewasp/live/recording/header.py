"""Header of a segment: versions of kubewasp and of its guests, and the configuration in use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kubewasp import __version__
from kubewasp.framework.config.model import ClientConnection
from kubewasp.framework.config.writing import as_template

if TYPE_CHECKING:
    from kubewasp.rollout.process_version import Version


def header_of(version: Version) -> dict[str, Any]:
    """The configuration as written, without the connection to the API server and without private keys."""
    config = replace(version.config, client_connection=ClientConnection())
    guests: dict[str, dict[str, str]] = {}
    for (profile, plugin), release in version.releases.items():
        guests.setdefault(profile, {})[plugin] = release.digest
    return {"version": __version__, "config": as_template(config), "guests": guests}
