"""Declarations of the templates in every language on the real host: pure, with a normalization, and what they read."""

from pathlib import Path

import pytest

from kubewasp.framework.normalization import Method, Normalization
from kubewasp.projects import scaffold
from kubewasp.wasm.guest import Guest
from tests import samples
from tests.guests.build import project_guest, rust_target

NODES = [{"metadata": {"name": f"{disk}-1", "labels": {"disktype": disk}}} for disk in ("nvme", "ssd", "hdd")]
LANGUAGES = ("go", "rust", "c", "python", "javascript", "typescript")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_template_is_pure_and_normalized_by_the_host(language: str, tmp_path: Path) -> None:
    if language == "rust":
        rust_target()
    folder = tmp_path / f"declared-{language}"
    scaffold.create(folder, f"declared-{language}", language)
    guest = Guest.load(project_guest(folder), config='{"closed": ["hdd"]}')
    assert guest.normalization == Normalization(Method.PROPORTIONAL)
    assert guest.purity is not None
    assert guest.purity.reports
    assert "normalizescore" not in guest.hooks
    with guest.cycle(samples.pod("web"), NODES) as cycle:
        open_nodes = ["nvme-1", "ssd-1"]
        assert cycle.filter(open_nodes).feasible == ("nvme-1", "ssd-1")
        raw = cycle.score(open_nodes).as_dict()
        assert raw == {"nvme-1": 2, "ssd-1": 1}
        assert cycle.normalize_score(raw).scores == {"nvme-1": 100, "ssd-1": 50}
        assert cycle.runner.pod_fields().names == ()
        assert cycle.filter(["hdd-1"]).feasible == ()
        assert cycle.runner.pod_fields().names == ("metadata.namespace",)
