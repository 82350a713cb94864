"""Whatever a visitor calls a class, the bundle opens afterwards and knows what it said it knows."""

from __future__ import annotations

import json
import random
from urllib.parse import quote

import pytest

from served import bundle, running
from zerokin.recognizer import Recognizer

from .visitor import Visitor, function_of

PARTS = [
    *("okapi", "\r", "\n", "\r\n", "\0", "\x1b[2J", "\t", "\x7f", "\x85", "\u2028", "\ufeff"),
    *(
        "\u202e",
        "\ud800",
        "🦒",
        "é",
        "e\u0301",
        "שלום",
        '"',
        "'",
        ",",
        ";",
        "=1+1",
        "<b>",
        "{{7*7}}",
    ),
    *("${x}", "%s", "%00", "../", "/", "\\", "con", "a" * 199, "b" * 140_000, " ", "\u3000", "-"),
    *("#", "&amp;", "None", "nan", "1e400", "-0", "true"),
]
SEED, DRAWN = 20_261_118, 120


def drawn(count):
    rng = random.Random(SEED)
    for _ in range(count):
        yield "".join(rng.choice(PARTS) for _ in range(rng.randint(1, 4)))


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    folder = bundle(tmp_path_factory.mktemp("named"))
    with running(folder) as (address, process):
        yield Visitor(address), folder, process


def names_of(visitor):
    return [one["name"] for one in json.loads(visitor.ask("GET", "/api/classes")[2])["classes"]]


def test_any_name_is_kept_as_it_is_or_refused(attacked):
    visitor, folder, _ = attacked
    before, kept = names_of(visitor), 0
    for number, name in enumerate(drawn(DRAWN)):
        body = json.dumps({"name": name, "vector": [1.0 + number, *[1.0] * 79]}).encode()
        status, _, content = visitor.ask("POST", "/api/classes", body)
        if status == 201:
            kept += 1
            own = json.loads(content)["name"]
            assert own == name.strip()
            assert names_of(visitor) == [*before, own]
            if number % 10 == 0:
                assert Recognizer.load(folder, device="cpu").classes.names[-1] == own
            status, _, content = visitor.ask("DELETE", f"/api/classes?name={quote(own)}")
            assert status == 200, content
        else:
            assert status in (400, 409), (name[:80], status)
            assert list(json.loads(content)) == ["error"]
        assert names_of(visitor) == before
    assert 10 < kept < DRAWN - 10


def test_the_page_refuses_what_the_interface_refuses(attacked):
    visitor, folder, _ = attacked
    config = visitor.open_page()
    before = names_of(visitor)
    fn, _ = function_of(config, "forget-name")
    for number, name in enumerate(("oka\rpi", "\0", "x" * 300, "\ud800")):
        visitor.call(fn, [name], session=f"forget{number}")
        visitor.result(f"forget{number}")
    assert names_of(visitor) == before
    assert Recognizer.load(folder, device="cpu").classes.names == tuple(before)


def test_killed_in_the_end_it_opens(attacked):
    visitor, folder, process = attacked
    before = names_of(visitor)
    process.kill()
    process.wait(30)
    assert list(Recognizer.load(folder, device="cpu").classes.names) == before
