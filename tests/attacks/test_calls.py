"""Calls of the page's functions by hand: odd values, functions that are not there, many at once."""

from __future__ import annotations

import json
import threading

import pytest

from served import bundle, running, test_images
from zerokin.recognizer import Recognizer

from .visitor import Visitor, call_of, file_data

ODD = [
    None,
    True,
    0,
    -1,
    0.3,
    1e308,
    2**60,
    "",
    "All",
    "no such thing",
    "<b>\0\x1b[2J\ud800" + "x" * 3000,
    [],
    [[]],
    ["All"],
    [0.5, 0.5],
    [1.0] * 80,
    [None] * 80,
    {},
    {"__type__": "update", "value": 1},
    {"path": None},
]


def outcome(visitor, number, data, session):
    """Make a call; where it is taken, wait for what comes of it."""
    status, _, content = visitor.call(number, data, session=session)
    if status == 200:
        told = visitor.result(session, seconds=120).decode()
        assert "process_completed" in told
        return status, told
    assert status in (400, 403), (status, content)
    line = json.loads(content)
    assert list(line) == ["error"]
    assert "\n" not in line["error"]
    return status, line["error"]


@pytest.mark.slow
def test_no_value_makes_the_server_tell_a_trace(visitor):
    """The server's fixture refuses any trace on standard error in the end."""
    taken = refused = 0
    for call in visitor.config["dependencies"]:
        parts = {part["id"]: part["props"] for part in visitor.config["components"]}
        usual = [parts[one].get("value") for one in call["inputs"]]
        for position in range(len(usual)):
            for number, odd in enumerate(ODD):
                data = [*usual]
                data[position] = odd
                session = f"odd{call['id']}x{position}x{number}"
                status, told = outcome(visitor, call["id"], data, session)
                taken, refused = taken + (status == 200), refused + (status != 200)
                if status == 200:
                    assert '"success":true' in told.replace(" ", ""), (call["id"], odd, told[:300])
    assert taken > 20
    assert refused > 200


def test_calls_that_fit_no_function_are_refused_in_a_line(visitor):
    fn, usual = call_of(visitor.config, "image", None)
    highest = max(call["id"] for call in visitor.config["dependencies"])
    for number in (highest + 1, 999_999, None):
        status, said = outcome(visitor, number, usual, "none")
        assert (status, said) == (400, f"the page has no function {number}: load it again")
    for data in (usual[:-1], [*usual, None], []):
        status, said = outcome(visitor, fn, data, "none")
        assert status == 400
        assert said == f"{len(usual)} values make this call, not {len(data)}: load the page again"
    photo = visitor.keep("photo.png", test_images()[0].read_bytes())
    fn, data = call_of(visitor.config, "image", [file_data(photo)])
    status, said = outcome(visitor, fn, data, "none")
    assert (status, "must be an uploaded file" in said) == (400, True)


@pytest.mark.slow
def test_classes_come_and_go_while_the_page_is_used(tmp_path):
    """The lists of classes that a page was sent are old by the time it is used."""
    with running(bundle(tmp_path)) as (address, process):
        own = Recognizer.load(tmp_path / "bundle", device="cpu").classes
        like = own.vectors[own.index("plum mumbler")[0]].tolist()
        problems, made = [], []

        def use(number):
            visitor = Visitor(address)
            config = visitor.open_page()
            refresh = next(call["id"] for call in config["dependencies"] if not call["inputs"])
            editor = call_of(config, "attributes", like)
            for turn in range(6):
                name = f"newt {number} {turn}"
                given = [name, *editor[1][1:]]
                calls = [
                    call_of(config, "like", f"newt {(number + 1) % 4} {turn}"),
                    (editor[0], given),
                    (refresh, []),
                    call_of(config, "search", f"newt {(number + 2) % 4} {turn}"),
                    call_of(config, "like", name),
                    call_of(config, "forget-name", name),
                ]
                for place, call in enumerate(calls):
                    session = f"s{number}"
                    status, told = outcome(visitor, *call, session)
                    if status != 200 or '"success":true' not in told.replace(" ", ""):
                        problems.append((call, status, told[:300]))
                    if place in (1, 5):
                        made.append(("known from now on", "is forgotten")[place > 1] in told)

        threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        process.terminate()
        assert process.wait(60) == 0
        said = process.stderr.read()
    assert problems == []
    assert made == [True] * 48
    assert said == ""
    assert Recognizer.load(tmp_path / "bundle", device="cpu").classes.names == own.names
