"""`kubewasp trace shapes`: the most frequent shapes of the pods in a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.cli import output
from kubewasp.cli.folding import counted
from kubewasp.cli.trace_run import mapping_of
from kubewasp.lab.traces import shapes
from kubewasp.lab.traces.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Collection

    from kubewasp.input_file import InputFile


def run(pods: InputFile, mapping: str, *, share: float, resources: Collection[str], skip: bool, form: str) -> None:
    trace = Trace(pods, mapping_of(mapping), skip=skip)
    every = shapes.count(trace.pods(), resources)
    found = shapes.most_frequent(every, share)
    if trace.bad.count:
        output.warn(str(trace.bad))
    total = sum(shape.pods for shape in every)
    if form != "table":
        document: dict[str, Any] = {
            "pods": total,
            "shapes": len(every),
            "typical": [shape.as_dict() for shape in found],
        }
        output.print_document(document, form)
        return
    rows = [
        (
            f"{shape.pods:,}",
            f"{100 * shape.pods / total:.1f}%",
            ", ".join(f"{name} {amount:,}" for name, amount in shape.requests.items()),
            "\n".join(f"{key}: {', '.join(values)}" for key, values in shape.affinity.items()),
        )
        for shape in found
    ]
    output.print_table(("PODS", "SHARE", "REQUESTS", "NODE AFFINITY"), rows, right=("PODS", "SHARE"))
    some = sum(shape.pods for shape in found)
    output.print_facts([("shapes", f"{len(found):,} of {len(every):,}, {some:,} of {counted(total, 'pod')}")])
