"""One bundle asked and changed by many: answers against the recognizer's own."""

from __future__ import annotations

import io
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest
from PIL import Image

from served import bundle, test_images
from zerokin.app.batching import Batcher
from zerokin.app.limits import Limits
from zerokin.app.refusals import Busy, Conflict, ReadOnly, TooLarge, Unknown
from zerokin.app.service import Service
from zerokin.errors import InvalidInput
from zerokin.recognizer import Recognizer
from zerokin.recognizer.answering import Question


@pytest.fixture
def folder(tmp_path):
    return bundle(tmp_path)


@pytest.fixture
def service(folder):
    service = Service(folder, device="cpu")
    yield service
    service.close()


def said(answer):
    return answer.to_dict(examples=True) | {"picture": "", "image": ""}


def test_answers_of_many_at_once_are_those_of_the_recogniser_alone(service, folder):
    files = test_images() * 2
    questions = [
        Question(k=3),
        Question("unseen", k=2, max_risk=0.3),
        Question(["plum mumbler", "honey mumbler"], unseen_bias=0.1),
    ]
    alone = Recognizer.load(folder, device="cpu")
    asked = [(file, questions[i % 3]) for i, file in enumerate(files)]
    with ThreadPoolExecutor(16) as pool:
        futures = list(pool.map(lambda one: service.ask(one[0].read_bytes(), "x", one[1]), asked))
    # Neither the images asked about at the same time nor those of one call change a digit.
    together = {q: alone.recognize(files, **vars(question)) for q, question in enumerate(questions)}
    for i, ((file, question), future) in enumerate(zip(asked, futures, strict=True)):
        expected = alone.recognize([file], **vars(question))[0]
        assert said(future.result()) == said(expected) == said(together[i % 3][i])
    assert service.in_hand == 0


def test_a_batch_never_holds_more_than_it_may_and_keeps_the_order():
    sizes, gate = [], threading.Event()

    def work(items):
        gate.wait(10)
        sizes.append(len(items))
        return [item * item for item in items]

    batcher = Batcher(work, most=4)
    futures = [batcher.submit(item) for item in range(11)]
    gate.set()
    assert [future.result(10) for future in futures] == [item * item for item in range(11)]
    assert max(sizes) <= 4
    assert len(sizes) <= 5
    batcher.close()


def test_a_batcher_with_several_threads_works_on_as_many_batches_at_once():
    together = threading.Barrier(3)

    def work(items):
        together.wait(10)
        return [-item for item in items]

    batcher = Batcher(work, most=1, threads=3)
    futures = [batcher.submit(item) for item in range(6)]
    assert [future.result(10) for future in futures] == [0, -1, -2, -3, -4, -5]
    batcher.close()


def test_what_waits_when_a_batcher_closes_is_still_done():
    gate = threading.Event()

    def work(items):
        gate.wait(10)
        return items

    batcher = Batcher(work, most=2)
    futures = [batcher.submit(item) for item in range(7)]
    threading.Timer(0.1, gate.set).start()
    batcher.close()
    assert [future.result(0) for future in futures] == list(range(7))


def test_an_error_in_a_batch_reaches_all_who_wait_and_the_next_batch_works():
    def work(items):
        if "bad" in items:
            raise OSError("gone")
        return items

    batcher = Batcher(work, most=1)
    with pytest.raises(OSError, match="gone"):
        batcher.submit("bad").result(10)
    assert batcher.submit("good").result(10) == "good"
    batcher.close()


def test_cancelled_requests_do_not_stop_others():
    gate = threading.Event()

    def work(items):
        gate.wait(10)
        return items

    batcher = Batcher(work, most=8)
    first, cancelled, last = batcher.submit(1), Future(), Future()
    cancelled.cancel()
    batcher.submit(2, cancelled)
    batcher.submit(3, last)
    gate.set()
    assert (first.result(10), last.result(10)) == (1, 3)
    batcher.close()


def test_too_many_requests_are_refused_and_served_again_later(folder):
    service = Service(folder, limits=Limits(waiting=2), device="cpu")
    content = test_images()[0].read_bytes()
    with ExitStack() as busy:
        for _ in range(service._model._initial_value):
            busy.enter_context(service._model)
        futures = [service.ask(content, "x", Question()) for _ in range(2)]
        with pytest.raises(Busy, match="2 requests are in hand"):
            service.ask(content, "x", Question())
    assert len({future.result(30).name for future in futures}) == 1
    assert service.ask(content, "x", Question()).result(30)
    service.close()


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "is empty"),
        (b"no image", "cannot be decoded: it is no image or damaged"),
        (
            b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
            "cannot be decoded: it is no image or damaged",
        ),
        (test_images.__doc__.encode() * 99, "cannot be decoded"),
    ],
)
def test_what_is_no_image_is_said(service, content, line):
    with pytest.raises(InvalidInput, match=line):
        service.ask(content, "x.jpg", Question()).result(30)
    assert service.in_hand == 0


def test_a_truncated_image_is_said(service):
    content = test_images()[0].read_bytes()
    with pytest.raises(InvalidInput, match="x\\.png cannot be decoded"):
        service.ask(content[: len(content) // 2], "x.png", Question()).result(30)


def test_bombs_are_refused_before_they_are_decoded(folder):
    service = Service(folder, limits=Limits(pixels=10_000, upload_bytes=2_000), device="cpu")
    file = io.BytesIO()
    Image.new("1", (101, 100)).save(file, "PNG")
    with pytest.raises(TooLarge, match="101 × 100 pixels, over the limit of 10,000"):
        service.ask(file.getvalue(), "x.png", Question()).result(30)
    with pytest.raises(TooLarge, match="over the limit of 2,000"):
        service.ask(test_images()[0].read_bytes(), "x.png", Question()).result(30)
    service.close()


def test_a_bad_question_is_refused_at_once(service):
    with pytest.raises(InvalidInput, match="plum mumbler"):
        service.ask(b"", "x", Question(["plum mumblr"]))
    assert service.in_hand == 0


def test_a_class_is_known_at_once_and_after_a_restart(service, folder):
    vector = service.recognizer.classes.vectors[0]
    names = service.recognizer.classes.attribute_names
    attributes = dict(zip(names, vector.tolist(), strict=True))
    assert service.add_class(" twin ", attributes=attributes) == 14
    ranked = service.ask(test_images()[0].read_bytes(), "x", Question(k=99)).result(30).ranked
    assert "twin" in [one.name for one in ranked]
    assert Recognizer.load(folder, device="cpu").classes.names[-1] == "twin"
    assert service.remove_class("twin") == 13
    assert "twin" not in Recognizer.load(folder, device="cpu").classes.names


def test_what_cannot_be_changed_changes_nothing(service, folder):
    before = Recognizer.load(folder, device="cpu").classes.names
    ones = np.ones(80).tolist()
    with pytest.raises(Conflict, match="there is a class"):
        service.add_class("plum mumbler", vector=ones)
    with pytest.raises(Conflict, match="seen in training"):
        service.remove_class("honey mumbler")
    with pytest.raises(Unknown, match="did you mean 'plum mumbler'"):
        service.remove_class("plum mumblr")
    with pytest.raises(InvalidInput, match="control character"):
        service.add_class("a\x00b", vector=ones)
    with pytest.raises(InvalidInput, match="at most 200 signs"):
        service.add_class("a" * 201, vector=ones)
    with pytest.raises(InvalidInput, match="has 1 values"):
        service.add_class("new", vector=[1.0])
    assert service.recognizer.classes.names == before
    assert Recognizer.load(folder, device="cpu").classes.names == before


def test_a_change_that_cannot_be_saved_is_not_made(service, monkeypatch):
    def full(*_):
        raise InvalidInput("cannot write: no space left on device")

    monkeypatch.setattr(Recognizer, "save", full)
    with pytest.raises(InvalidInput, match="no space left"):
        service.add_class("new", vector=np.ones(80).tolist())
    assert "new" not in service.recognizer.classes.names


def test_changes_by_others_are_taken_in_before_ones_own(service, folder):
    Recognizer.load(folder, device="cpu").add_class("theirs", vector=np.ones(80)).save(folder)
    service.add_class("ours", vector=np.arange(80.0).tolist())
    assert Recognizer.load(folder, device="cpu").classes.names[-2:] == ("theirs", "ours")


def test_many_changes_at_once_are_all_made(service, folder):
    names = [f"new {number}" for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: service.add_class(name, vector=[1.0] * 80), names))
    assert set(names) < set(Recognizer.load(folder, device="cpu").classes.names)


def test_read_only_refuses_changes(folder):
    service = Service(folder, read_only=True, device="cpu")
    with pytest.raises(ReadOnly):
        service.add_class("new", vector=[1.0] * 80)
    with pytest.raises(ReadOnly):
        service.remove_class("plum mumbler")
    service.close()
