"""`kubewasp snapshot`: a cluster or manifests, anonymised if wanted, into a file; and the summary."""

from __future__ import annotations

import asyncio
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from kubewasp.apiserver.client import ApiClient
from kubewasp.cli import connection, output
from kubewasp.cli.output_file import replaced
from kubewasp.cli.progress import Progress
from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.k8s.errors import ManifestError
from kubewasp.k8s.quantity import format_size
from kubewasp.k8s.resources import amount_text
from kubewasp.lab.snapshots import cluster_snapshot
from kubewasp.lab.snapshots.snapshot_fields import KeptFields
from kubewasp.simulation import loading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.input_file import InputFile
    from kubewasp.lab.snapshots.cluster_snapshot import ClusterSnapshot

_DASH: Final = Path("-")
_PRIVATE: Final = 0o600
_SALT_BYTES: Final = 32
# Reads are paged and sequential: the server's own fairness limits them.
_NO_LIMIT: Final = -1.0


@dataclass(frozen=True, slots=True)
class Anonymization:
    """Options of --anonymize. Without a salt, it is random and forgotten."""

    salt: bytes
    kept_labels: Sequence[str]


def run(
    paths: Sequence[InputFile],
    *,
    kubeconfig: str,
    out: Path | None,
    anonymization: Anonymization | None,
    annotations: Sequence[str],
    strict: bool,
    form: str,
) -> None:
    if out == _DASH and sys.stdout.isatty():
        raise typer.BadParameter("a terminal cannot show a snapshot; use a file or a pipe", param_hint="--out")
    fields = KeptFields(annotations)
    with Progress() as progress:
        progress.phase("loading")
        if paths:
            found = _of_manifests(paths, fields, strict=strict)
        else:
            found = asyncio.run(_of_cluster(kubeconfig, fields, progress))
        for warning in found.head.warnings:
            output.warn(warning)
        if anonymization is not None:
            progress.phase("anonymizing")
            salt = anonymization.salt or secrets.token_bytes(_SALT_BYTES)
            found = found.anonymized(salt, fields, anonymization.kept_labels)
        if out is not None:
            progress.phase("writing")
            _write(found, out)
    if out == _DASH:
        return
    facts = {"file": str(out), "bytes": out.stat().st_size} if out is not None else {}
    _show({**facts, **found.summary()}, form)


def _of_manifests(paths: Sequence[InputFile], fields: KeptFields, *, strict: bool) -> ClusterSnapshot:
    given = loading.read(paths)
    if strict:
        given.mistakes.raise_if_any()
    for warning in (*given.mistakes.texts(), *loading.left_out(given.unknown)):
        output.warn(warning)
    found = cluster_snapshot.of_manifests(given, fields)
    if not found.objects:
        raise ManifestError("", "no object to save", source=", ".join(map(str, paths)))
    return found


async def _of_cluster(kubeconfig: str, fields: KeptFields, progress: Progress) -> ClusterSnapshot:
    credentials = await connection.credentials(kubeconfig)
    async with ApiClient(credentials, qps=_NO_LIMIT) as client:
        return await cluster_snapshot.of_cluster(client, fields, SYSTEM_CLOCK, progress)


def _write(found: ClusterSnapshot, out: Path) -> None:
    if out == _DASH:
        found.write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with replaced(out, _PRIVATE) as file:
        found.write(file)


def _show(summary: dict[str, Any], form: str) -> None:
    if form != "table":
        output.print_document(summary, form)
        return
    pods, names = summary["pods"], {"taken": "taken", "server": "server"}
    facts = [("file", f"{summary['file']}, {format_size(summary['bytes'])}")] if "file" in summary else []
    facts += [(label, summary[name]) for name, label in names.items() if summary[name]]
    facts += [
        ("names", "anonymized" if summary["anonymized"] else "original"),
        ("pods", f"{pods['bound']:,} bound, {pods['pending']:,} pending"),
    ]
    output.print_facts(facts)
    output.write("\n")
    rows = [(kind, f"{count:,}") for kind, count in summary["counts"].items() if count]
    output.print_table(("KIND", "OBJECTS"), rows, right=("OBJECTS",))
    if summary["resources"]:
        output.write("\n")
        columns = ("RESOURCE", "ALLOCATABLE", "REQUESTED", "SHARE")
        output.print_table(columns, [_resource(**item) for item in summary["resources"]], right=columns[1:])


def _resource(resource: str, allocatable: int, requested: int) -> tuple[str, str, str, str]:
    share = f"{100 * requested / allocatable:.1f}%" if allocatable else "-"
    return resource, amount_text(resource, allocatable), amount_text(resource, requested), share
