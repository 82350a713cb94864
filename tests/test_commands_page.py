"""The page of commands: all are there, with the options they have and an example that runs."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

import pytest

from own_images import write_critter_folder
from zerokin.cli import main

DOCS = Path(__file__).parents[1] / "docs"
sys.path.append(str(DOCS))
from command_help import PAGE, commands, filled  # noqa: E402

TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([a-z-]+)\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE))
CONSOLE = re.compile(r"```console\n\$ zerokin (.*?)\n(.*?)```", re.DOTALL)
FILES = re.compile(r"With a file `([a-z.]+)`:\n\n```yaml\n(.*?)```", re.DOTALL)


def test_every_command_has_a_section_and_no_other_has():
    assert set(SECTIONS) == set(commands())


@pytest.mark.parametrize("command", SECTIONS)
def test_a_section_shows_the_options_and_an_example_of_its_command(command):
    assert f"<!-- options of {command} -->" in SECTIONS[command]
    examples = CONSOLE.findall(SECTIONS[command])
    assert examples
    assert all(shlex.split(line)[0] == command for line, _ in examples)


def test_the_tables_are_those_of_the_commands():
    """If they are not: python docs/command_help.py."""
    assert filled(TEXT) == TEXT


@pytest.mark.parametrize("command", SECTIONS)
def test_the_tables_name_what_help_names(command, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "argv", ["zerokin", command, "--help"])
    with pytest.raises(SystemExit):
        main()
    option = r"(?<![\w-])--?[a-z][a-z-]*"
    rows = re.findall(r"^│ [* ]*(-.*?) {2,}(?:<|[A-Z])", capsys.readouterr().out, re.MULTILINE)
    helped = {name for row in rows for name in re.findall(option, row)} - {"--help", "-h"}
    listed = re.findall(r"^\| (`-.*?`) \|", SECTIONS[command], re.MULTILINE)
    assert {name for row in listed for name in re.findall(option, row)} == helped


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Give a folder with what the page says is there."""
    animals = write_critter_folder(tmp_path / "animals", n_seen=9, n_unseen=3, n_images=4, n_test=2)
    (animals / "classes.csv").rename(tmp_path / "filled.csv")
    shutil.copytree(animals / "test" / "frostnose trundle", tmp_path / "holiday")
    (tmp_path / "text.txt").write_text("the okapi has stripes and a long neck\n" * 50)
    for name, content in FILES.findall(TEXT):
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def _work_of_minutes_left_out(monkeypatch):
    """The demo and the server are tested elsewhere; here only their command lines are."""
    pytest.importorskip("gradio")
    pytest.importorskip("gensim")

    def run_demo(folder, **settings):
        return []

    def serve(model, *, host, port, ready, **settings):
        ready(f"http://{host}:{port}")

    monkeypatch.setattr("zerokin.commands.demo.run_demo", run_demo)
    monkeypatch.setattr("zerokin.app.server.serve", serve)


@pytest.mark.usefixtures("_work_of_minutes_left_out")
def test_the_examples_do_what_the_page_shows(place, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    checker = OutputChecker()
    for line, expected in CONSOLE.findall(TEXT):
        monkeypatch.setattr(sys, "argv", ["zerokin", *shlex.split(line)])
        capsys.readouterr()
        status = 0
        try:
            main()
        except SystemExit as ended:
            status = ended.code or 0
        printed, complaints = capsys.readouterr()
        assert status == 0, f"zerokin {line}: {complaints}"
        assert checker.check_output(expected, printed, ELLIPSIS | NORMALIZE_WHITESPACE), (
            f"zerokin {line} printed\n{printed}"
        )
        if line.startswith("init "):
            (place / "filled.csv").rename(place / "animals" / "classes.csv")
