"""Replay: the same version decides the same, another one differs, and the state follows the recording."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from kubewasp.framework.config.model import SchedulerConfig
from kubewasp.framework.config.reading import default_config, read_config
from kubewasp.framework.observer import NO_OBSERVER
from kubewasp.lab.replaying.recording import RecordingReader
from kubewasp.lab.replaying.recording_replay import Replay, ReplayReport
from kubewasp.lab.replaying.replay_differences import DifferenceKind
from kubewasp.live.recording.entries import EntryKind, encode_entry
from kubewasp.live.recording.segments import MAGIC, RecordingError, frame, segment_files
from kubewasp.live.recording.writer import RecordingWriter
from kubewasp.rollout.controller import RolloutController
from kubewasp.rollout.ledger import Ledger
from kubewasp.rollout.planning import Running
from tests.guests.build import ROOT, wat
from tests.live.recording.churn import Churn, RecordedCluster
from tests.scheduler.building import HEAD

STEPS = 160
SEGMENT = 4000  # bytes
PREFER = ROOT / "examples" / "guests" / "prefer_label.wat"
NUMBER = ROOT / "examples" / "guests" / "nodenumber.wat"
Recorded = Callable[..., Path]
Change = Callable[[SchedulerConfig], SchedulerConfig]


@pytest.fixture(scope="module")
def churned(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Records churn, once for the same arguments; returns the folder."""

    @cache
    def record(guests: tuple[str, ...], seed: int, steps: int, segment: int, guest: Path | None) -> Path:
        settings = default_config()
        for name in guests:
            settings = settings.with_wasm_plugin(name, str(wat(name)))
        if guest is not None:
            settings = settings.with_wasm_plugin("policy", str(guest))
        folder = tmp_path_factory.mktemp("churn") / "recording"
        with pytest.MonkeyPatch.context() as patch:
            if segment:
                patch.setattr(RecordingWriter, "_segment_bytes", lambda _: segment)
            cluster = RecordedCluster(folder, settings, seed=seed)
            churn = Churn(cluster)
            for _ in range(steps):
                churn.step()
                cluster.writer.write_queued()
            cluster.close()
        assert not cluster.writer.problem
        assert len(cluster.attempts) > steps / 10
        return folder

    return record


@pytest.fixture
def recorded(churned: Recorded, tmp_path: Path) -> Recorded:
    """A recording of churn that the test may change."""

    def copy(*guests: str, seed: int = 0, steps: int = STEPS, segment: int = 0, guest: Path | None = None) -> Path:
        folder = tmp_path / "recording"
        shutil.copytree(churned(guests, seed, steps, segment, guest), folder)
        return folder

    return copy


def replayed(folder: Path, change: Change = lambda config: config) -> ReplayReport:
    return Replay(RecordingReader(folder), lambda config: (change(config), ())).run()


def found(report: ReplayReport) -> list[str]:
    return [f"{item.kind}: {item.pod}, {item.then} / {item.now} {item.note}" for item in report.differences.kept]


# ---------------------------------------------------------------------- the same version


@pytest.mark.parametrize("seed", range(2))
def test_the_same_configuration_decides_the_same(recorded: Recorded, seed: int) -> None:
    report = replayed(recorded(seed=seed))
    assert found(report) == []
    assert (report.other_scores, report.warnings) == (0, [])
    assert report.attempts > STEPS / 5


def test_pods_that_wait_on_permit_are_decided_the_same(recorded: Recorded) -> None:
    report = replayed(recorded("gang", seed=1))
    assert found(report) == []


@pytest.mark.parametrize("guests", [(), ("gang",)], ids=["default", "gang"])
def test_a_replay_may_begin_with_any_segment(recorded: Recorded, guests: tuple[str, ...]) -> None:
    folder = recorded(*guests, seed=8, segment=SEGMENT)
    files = [path for _, path in segment_files(folder)]
    assert len(files) > 3
    attempts = []
    for path in files:
        report = replayed(folder)
        assert (path.name, found(report)) == (path.name, [])
        attempts.append(report.attempts)
        path.unlink()
    assert attempts == sorted(attempts, reverse=True)


def test_a_reload_begins_a_segment_with_the_new_version(tmp_path: Path) -> None:
    guest = tmp_path / "policy.wat"
    guest.write_bytes(NUMBER.read_bytes())
    config = default_config().with_wasm_plugin("policy", str(guest), weight=50)
    cluster = RecordedCluster(tmp_path / "recording", config, seed=6)
    controller = RolloutController(
        cluster.scheduler,
        Running(cluster.version),
        observer=NO_OBSERVER,
        ledger=Ledger(None),
        background=lambda job: job(),
        reload=lambda: None,
        listeners=[cluster.tap],
    )
    churn = Churn(cluster)
    churn.run(60)
    guest.write_bytes(PREFER.read_bytes())
    releases = cluster.stager.stage(config, controller.running.releases())
    basis, new = controller.plan(config, releases)
    controller.apply(basis, new, config, releases)
    cluster.version = controller.running.version
    churn.run(100)
    cluster.writer.write_queued()
    cluster.close()
    report = replayed(cluster.writer.folder)
    assert found(report) == []
    assert (report.segments, report.configurations, report.warnings) == (2, 2, [])
    assert len(list((cluster.writer.folder / "guests").iterdir())) == 2
    first = replayed(cluster.writer.folder, lambda config: config.with_wasm_plugin("policy", str(NUMBER), weight=50))
    assert len(first.differences)


@pytest.mark.parametrize("is_allowed", [True, False])
def test_decisions_of_other_threads_on_waiting_pods_are_input(tmp_path: Path, is_allowed: bool) -> None:
    config = default_config().with_wasm_plugin("gang", str(wat("gang")))
    cluster = RecordedCluster(tmp_path / "recording", config)
    churn = Churn(cluster, priorities=False)
    names = [churn.pod(), churn.pod()]
    cluster.deliver(100)
    for _ in range(4):
        cluster.step()
    handle = cluster.scheduler.handle
    assert len(cluster.scheduler.waiting) == 2
    for name in names:
        if is_allowed:
            handle.allow_waiting_pod(f"uid-{name}", "gang")
        else:
            handle.reject_waiting_pod(f"uid-{name}", "gang", "not now")
    churn.run(40)
    cluster.writer.write_queued()
    cluster.close()
    assert found(replayed(cluster.writer.folder)) == []


def test_a_damaged_segment_is_left_out_and_the_next_one_replayed(recorded: Recorded) -> None:
    folder = recorded(seed=8, segment=SEGMENT)
    whole = replayed(folder)
    second = segment_files(folder)[1][1]
    content = bytearray(second.read_bytes())
    content[len(content) // 2] ^= 1
    second.write_bytes(content)
    report = replayed(folder)
    assert found(report) == []
    assert report.warnings[0].startswith("000002.kwrec: damaged")
    assert 0 < report.attempts < whole.attempts


def test_a_torn_end_is_cut_off(recorded: Recorded) -> None:
    folder = recorded()
    ((_, path),) = segment_files(folder)
    path.write_bytes(path.read_bytes()[:-3])
    report = replayed(folder)
    assert found(report) == []
    assert "torn" in report.warnings[0]


def test_a_run_after_another_is_replayed_with_its_own_state(recorded: Recorded) -> None:
    folder = recorded()
    cluster = RecordedCluster(folder, seed=4)
    Churn(cluster).run(60)
    cluster.writer.write_queued()
    cluster.close()
    report = replayed(folder)
    assert found(report) == []
    assert (report.segments, report.configurations) == (2, 2)


# ---------------------------------------------------------------------- another version


def with_guest(guest: Path) -> Change:
    return lambda config: config.with_wasm_plugin("nodenumber", str(guest), weight=100)


def test_another_plugin_differs_and_is_named(recorded: Recorded) -> None:
    report = replayed(recorded(), with_guest(NUMBER))
    assert report.differences.counts[DifferenceKind.OTHER_NODE] > 5
    assert report.cause is not None
    assert report.cause.plugin == "nodenumber"
    assert report.cause.scores[0].before == (0, 0)
    first = report.differences.kept[0]
    assert first.then.node
    assert first.now.node
    assert first.then.node != first.now.node
    assert first.now.score is not None


def test_each_decision_is_judged_in_the_recorded_state(recorded: Recorded) -> None:
    """After hundreds of differences, the recorded configuration would still decide as it did."""
    folder = recorded()
    other = Replay(RecordingReader(folder), lambda config: (with_guest(NUMBER)(config), ()))
    report = other.run()
    assert report.differences.counts[DifferenceKind.OTHER_NODE] > 5
    unaffected = {
        DifferenceKind.NOW_PENDING,
        DifferenceKind.NOW_PLACED,
        DifferenceKind.OTHER_MESSAGE,
        DifferenceKind.NOT_READY,
        DifferenceKind.TRIED_EARLIER,
        DifferenceKind.OTHER_END,
    }
    # A score changes the choice among feasible nodes and nothing else, unless the state had drifted.
    assert {kind: count for kind, count in report.differences.by_kind if kind in unaffected} == {}


def test_a_plugin_that_is_gone_is_the_cause(recorded: Recorded) -> None:
    folder = recorded(seed=1)
    without = read_config(
        {**HEAD, "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}}]}
    )
    report = replayed(folder, lambda _: without)
    placed = report.differences.counts[DifferenceKind.NOW_PLACED]
    assert placed > 0
    assert report.differences.pods


def test_other_backoff_shows_as_pods_not_tried_yet(recorded: Recorded) -> None:
    slow = replace(default_config(), pod_initial_backoff_seconds=500, pod_max_backoff_seconds=1000)
    report = replayed(recorded(seed=8, segment=SEGMENT), lambda _: slow)
    kinds = {kind for kind, _ in report.differences.by_kind}
    assert kinds <= {DifferenceKind.NOT_READY, DifferenceKind.TRIED_EARLIER}
    assert report.differences.counts[DifferenceKind.NOT_READY] > 0
    notes = {item.note for item in report.differences.kept if item.kind is DifferenceKind.NOT_READY}
    assert "its backoff has not ended" in notes


def test_a_missing_profile_is_a_difference_of_every_attempt(recorded: Recorded) -> None:
    other = read_config({**HEAD, "profiles": [{"schedulerName": "other"}]})
    report = replayed(recorded(), lambda _: other)
    assert set(report.differences.counts) == {DifferenceKind.NOT_READY}
    assert "no profile takes it" in report.differences.kept[0].note


def test_a_guest_comes_from_the_recording(recorded: Recorded, tmp_path: Path) -> None:
    guest = tmp_path / "policy.wat"
    guest.write_bytes(NUMBER.read_bytes())
    folder = recorded(guest=guest)
    guest.write_bytes(PREFER.read_bytes())
    assert found(replayed(folder)) == []
    (kept,) = (folder / "guests").iterdir()
    kept.write_bytes(PREFER.read_bytes())
    assert "is not in the recording" in replayed(folder).warnings[0]


# ---------------------------------------------------------------------- input


def test_a_folder_without_a_recording_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="there is no recording"):
        RecordingReader(tmp_path)
    with pytest.raises(RecordingError, match="cannot be read"):
        RecordingReader(tmp_path / "nowhere")


def test_a_segment_without_a_header_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "000001.kwrec").write_bytes(MAGIC + frame(encode_entry(EntryKind.TICK, 0.0, 0.0, None)))
    with pytest.raises(RecordingError, match=r"no segment can be read: 000001\.kwrec: damaged"):
        replayed(tmp_path)


def test_an_entry_without_its_fields_is_an_error_that_names_it(recorded: Recorded) -> None:
    folder = recorded(steps=20)
    ((_, path),) = segment_files(folder)
    with path.open("ab") as file:
        file.write(frame(encode_entry(EntryKind.BOUND, 0.0, 0.0, {"uid": "x"})))
    with pytest.raises(RecordingError, match=r"000001\.kwrec: entry \d+ cannot be replayed: KeyError: 'status'"):
        replayed(folder)
