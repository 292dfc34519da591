import pytest

from kubewasp.cli.output import print_facts, print_table, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nof two lines", "plain\ttext\nof two lines"),
        ("µ – 日本 …", "µ – 日本 …"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x00\x07\b\v\f\r\x7f", "\\x00\\x07\\x08\\x0b\\x0c\\x0d\\x7f"),
        ("\x85\x9b", "\\x85\\x9b"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_table_has_no_trailing_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("A", "NUMBER", "B"), [("one", "1", ""), ("two", "10", "x")], right=("NUMBER",))
    assert capsys.readouterr().out == "A    NUMBER  B\none       1\ntwo      10  x\n"


def test_table_without_rows_is_its_heading(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("A", "B"), [])
    assert capsys.readouterr().out == "A  B\n"


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_table_is_never_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table(("NAME", "TEXT", "MORE"), [("x" * 50, "word " * 20, "y" * 50)])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= columns
    assert (out.count("x"), out.count("y")) == (50, 50)


def test_a_column_is_as_wide_as_its_longest_word_where_there_is_room(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_table(("A", "TEXT", "NEED"), [("n1", "some words to be wrapped", "label example.com/pool=spot")])
    assert capsys.readouterr().out.splitlines() == [
        "A   TEXT           NEED",
        "n1  some words to  label",
        "    be wrapped     example.com/pool=spot",
    ]


def test_text_is_not_taken_for_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts([("name", "[bold]x[/bold] :smile: [link=http://x]y")])
    assert capsys.readouterr().out == "name  [bold]x[/bold] :smile: [link=http://x]y\n"


def test_facts_look_the_same_in_a_pipe_and_on_a_screen_of_its_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = [("name", "oci://127.0.0.1:5000/policy:v1"), ("digest", f"sha256:{'0' * 64}"), ("signer", ""), ("a", "b")]
    monkeypatch.delenv("COLUMNS", raising=False)
    print_facts(facts)
    plain = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "80")
    print_facts(facts)
    assert capsys.readouterr().out == plain
