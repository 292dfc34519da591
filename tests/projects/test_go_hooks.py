"""Hooks of a Go plugin that would never be called: found at build, with file and line."""

from pathlib import Path

import pytest

from kubewasp.projects import go
from kubewasp.projects.go_hooks import GoHooks
from kubewasp.projects.toolchain import BuildError

MODULE = "module example.test/mine\n\ngo 1.24\n\nrequire kubewasp.dev/sdk v0.0.0\n"
HEAD = """package main

import kubewasp "kubewasp.dev/sdk"

type Plugin struct{}

func New(*kubewasp.Handle) (*Plugin, error) { return &Plugin{}, nil }

"""
REGISTER = "func init() { kubewasp.Register(New) }\n\nfunc main() {}\n\n"
SCORE = (
    "func (*Plugin) Score(*kubewasp.CycleState, *kubewasp.Pod, *kubewasp.NodeInfo) (int64, kubewasp.Status) "
    "{ return 1, kubewasp.Success() }\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "go.mod").write_text(MODULE)
    return folder


def problem(project: Path, source: str) -> str:
    """The problem that the sources show, without a build."""
    (project / "main.go").write_text(source)
    with pytest.raises(BuildError) as caught:
        GoHooks(project).check()
    return str(caught.value)


def fine(project: Path, source: str) -> None:
    (project / "main.go").write_text(source)
    GoHooks(project).check()


def built(project: Path, source: str, tmp_path: Path) -> str:
    """The error of a build."""
    (project / "main.go").write_text(source)
    with pytest.raises(BuildError) as caught:
        go.build(project, tmp_path / "out.wasm")
    return str(caught.value)


# ---------------------------------------------------------------------- registration


def test_a_plugin_that_is_never_registered_is_an_error(project: Path) -> None:
    assert problem(project, HEAD + SCORE + "\nfunc main() {}\n") == (
        "main.go:7: the plugin is never registered; add `func init() { kubewasp.Register(New) }`"
    )


def test_a_comment_registers_nothing(project: Path) -> None:
    source = HEAD + SCORE + "\n// kubewasp.Register(New)\n/* kubewasp.Register(New) */\nfunc main() {}\n"
    assert "never registered" in problem(project, source)


def test_main_of_a_plugin_is_never_run(project: Path) -> None:
    assert problem(project, HEAD + SCORE + "\nfunc main() {\n\tkubewasp.Register(New)\n}\n") == (
        "main.go:12: Register is called in main, which a plugin never runs; call it in `func init()`"
    )


def test_another_module_may_register_the_plugin(project: Path) -> None:
    (project / "go.mod").write_text(MODULE + "require example.test/framework v1.0.0\n")
    fine(project, HEAD + SCORE + "\nfunc main() {}\n")


@pytest.mark.parametrize("name", ["sdk", "kw"])
def test_the_sdk_may_have_another_name(project: Path, name: str) -> None:
    source = (HEAD + REGISTER + SCORE).replace("kubewasp.", f"{name}.").replace(f"{name}.dev", "kubewasp.dev")
    fine(project, source.replace("import kubewasp", f"import {name}"))


# ---------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("method", "meant"),
    [
        ("Fliter(pod *kubewasp.Pod)", "Filter"),
        ("filter(state *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo)", "Filter"),
        ("Prefilter(state *kubewasp.CycleState, pod *kubewasp.Pod)", "PreFilter"),
        ("NormalizeScores(scores *kubewasp.NodeScores)", "NormalizeScore"),
        ("Less(a, b *kubewasp.Pod)", "SortKey"),
    ],
)
def test_a_misspelt_hook_is_an_error_with_the_right_name(project: Path, method: str, meant: str) -> None:
    name = method.partition("(")[0]
    assert problem(project, f"{HEAD}{REGISTER}func (p *Plugin) {method} {{}}\n") == (
        f"main.go:13: {name} is not an extension point; did you mean {meant}?"
    )


@pytest.mark.parametrize(
    "method",
    [
        "FilterGPUs(pod *kubewasp.Pod) {}",
        "Filters() {}",
        "weight(pod *kubewasp.Pod) {}",
        "fliter(pod *kubewasp.Pod) { p.fliter(pod) }",
        "score(pod *kubewasp.Pod) {}",
    ],
)
def test_methods_of_the_authors_own_are_no_errors(project: Path, method: str) -> None:
    fine(project, f"{HEAD}{REGISTER}{SCORE}func (p *Plugin) {method}\n")


def test_methods_of_other_types_are_no_errors(project: Path) -> None:
    fine(project, f"{HEAD}{REGISTER}{SCORE}type other struct{{}}\n\nfunc (other) Fliter(pod *kubewasp.Pod) {{}}\n")


def test_a_plugin_without_a_hook_is_an_error(project: Path) -> None:
    assert problem(project, f"{HEAD}{REGISTER}func (p *Plugin) weight() int {{ return 1 }}\n") == (
        "main.go:9: Plugin implements no extension point; give it a method such as Filter or Score"
    )


def test_an_embedded_type_may_have_the_hooks(project: Path) -> None:
    source = HEAD.replace("type Plugin struct{}", "type Plugin struct {\n\tbase\n}\n\ntype base struct{}")
    fine(project, source + REGISTER + SCORE.replace("*Plugin", "base"))


# ---------------------------------------------------------------------- signatures


def test_a_hook_with_another_signature_is_an_error_in_the_compilers_words(project: Path, tmp_path: Path) -> None:
    method = "func (p *Plugin) Filter(pod *kubewasp.Pod) kubewasp.Status { return kubewasp.Success() }\n"
    assert built(project, HEAD + REGISTER + SCORE + method, tmp_path) == (
        "main.go:14: Filter is never called: it does not implement kubewasp.Filter (wrong type for method Filter)\n"
        "\t\thave Filter(*kubewasp.Pod) kubewasp.Status\n"
        "\t\twant Filter(*kubewasp.CycleState, *kubewasp.Pod, *kubewasp.NodeInfo) kubewasp.Status"
    )
    assert not (tmp_path / "out.wasm").exists()


def test_a_pointer_receiver_of_a_registered_value_is_an_error(project: Path, tmp_path: Path) -> None:
    head = HEAD.replace("(*Plugin, error) { return &Plugin{}", "(Plugin, error) { return Plugin{}")
    assert built(project, head + REGISTER + SCORE, tmp_path) == (
        "main.go:13: Score has a pointer receiver and is never called: the plugin is registered as a value; "
        "return *Plugin from the constructor"
    )


def test_half_of_an_extension_point_is_an_error_beside_those_of_the_compiler(project: Path, tmp_path: Path) -> None:
    method = (
        "func (p *Plugin) AddPod(*kubewasp.CycleState, *kubewasp.Pod, *kubewasp.Pod, *kubewasp.NodeInfo) "
        "kubewasp.Status { return missing }\n"
    )
    found = built(project, HEAD + REGISTER + SCORE + method, tmp_path)
    assert found.startswith("Go compiler errors:")
    assert "undefined: missing" in found
    assert "main.go:14: AddPod is never called: it does not implement kubewasp.PreFilterExtensions (" in found
    assert "(missing method RemovePod)" in found


def test_a_scan_that_errs_does_not_fail_a_build(project: Path, tmp_path: Path) -> None:
    """A type behind a build tag does not exist for the compiler."""
    (project / "other.go").write_text(
        '//go:build !wasip1\n\npackage main\n\nimport kubewasp "kubewasp.dev/sdk"\n\ntype Native struct{}\n\n'
        "func New(*kubewasp.Handle) (*Native, error) { return nil, nil }\n\n" + SCORE.replace("Plugin", "Native")
    )
    source = HEAD.replace("func New(", "func newPlugin(") + SCORE
    source += "\nvar New = newPlugin\n\n" + REGISTER
    (project / "main.go").write_text(source)
    go.build(project, tmp_path / "out.wasm")
    assert (tmp_path / "out.wasm").exists()
