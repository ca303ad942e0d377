"""A GGUF file as a model: the real llama.cpp over a tiny random model, written for these tests."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from dspy import lm15
from dspy.utils import exceptions as failed
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrag_dspy.errors import LmError
from sqlrag_dspy.lm import LlamaEngine, adapter_of, connect, explain

pytest.importorskip("xllamacpp")
pytest.importorskip("gguf")
SETUP = {"cache": False, "threads": 1, "timeout": 120.0}


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    from tiny_gguf import write

    return write(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(scope="module")
def lm(path):
    lm = connect(f"gguf:{path}", **SETUP)
    lm("warm", max_tokens=1)  # loaded here, and held for the module
    return lm


def request(text: str = "hi", **config: Any) -> Any:
    return lm15.Request(model="gguf:tiny", messages=(lm15.Message.user(text),), config=lm15.Config(**config))


class Choose(dspy.Signature):
    """Choose a route."""

    question: str = dspy.InputField()
    route: Literal["sql", "vector"] = dspy.OutputField()
    count: Literal[1, 2, 3] = dspy.OutputField()


# --- what is asked and what comes back --------------------------------------------------------------


def test_an_answer_has_its_tokens_and_its_end(lm) -> None:
    reply = lm.engine.complete(request(max_tokens=8))
    assert reply.finish_reason == "length"
    assert reply.usage.output_tokens == 8
    assert reply.usage.input_tokens > 0
    with dspy.track_usage() as tracker:
        lm("hi", max_tokens=8)
    total = tracker.get_total_tokens()[lm.model]
    assert total["completion_tokens"] == 8
    assert total["total_tokens"] == total["prompt_tokens"] + 8


def test_without_a_temperature_the_same_question_has_the_same_answer(lm) -> None:
    assert lm("hello", max_tokens=12) == lm("hello", max_tokens=12)


def test_a_seed_repeats_a_sampled_answer(lm) -> None:
    first = [lm("hello", max_tokens=12, temperature=1.5, seed=seed)[0] for seed in (1, 1, 2)]
    assert first[0] == first[1] != first[2]


def test_an_answer_ends_before_a_stop_word(lm) -> None:
    whole = lm.engine.complete(request(max_tokens=40)).text
    word = next(letter for letter in whole[1:] if letter.isascii() and letter.isprintable() and letter != " ")
    cut = lm.engine.complete(request(max_tokens=40, stop=(word,)))
    assert cut.text == whole[: whole.index(word)]
    assert cut.finish_reason == "stop"


def test_an_answer_that_names_no_length_still_ends(path) -> None:
    from sqlrag_dspy.lm.completion import MAX_TOKENS

    reply = connect(f"gguf:{path}", **SETUP).engine.complete(request())
    assert reply.usage.output_tokens <= MAX_TOKENS


def test_the_start_that_prompts_share_is_read_once(lm) -> None:
    long = "the schema of a database " * 20
    lm.engine.complete(request(long + "first", max_tokens=1))
    again = lm.engine.complete(request(long + "second", max_tokens=1)).usage
    assert again.cache_read_tokens > 0.9 * again.input_tokens - 20


@pytest.mark.parametrize("seed", range(3))
def test_a_schema_binds_even_a_model_that_knows_nothing(lm, seed) -> None:
    schema = {
        "type": "object",
        "properties": {"route": {"enum": ["sql", "vector"]}, "count": {"enum": [1, 2, 3]}},
        "required": ["route", "count"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "name": "x", "schema": schema}
    for temperature in (0.0, 2.0):
        asked = request(f"q{seed}", response_format=form, temperature=temperature, seed=seed)
        said = json.loads(lm.engine.complete(asked).text)
        assert said["route"] in ("sql", "vector")
        assert said["count"] in (1, 2, 3)


@pytest.mark.parametrize("adapter", [None, dspy.JSONAdapter()], ids=["own", "json"])
def test_a_typed_signature_always_parses(lm, adapter) -> None:
    with dspy.context(lm=lm, adapter=adapter or adapter_of(lm)):
        said = dspy.Predict(Choose)(question="which?")
    assert said.route in ("sql", "vector")
    assert said.count in (1, 2, 3)


def test_threads_share_one_engine_and_queue(lm) -> None:
    alone = [lm(f"number {n}", max_tokens=6)[0] for n in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda n: lm(f"number {n}", max_tokens=6)[0], range(6))) == alone


def test_a_file_is_loaded_once_a_process(path, lm) -> None:
    from sqlrag_dspy.lm import gguf

    other = connect(f"gguf:{path}", **SETUP)
    other("hi", max_tokens=1)
    assert gguf.loaded(other.engine.file) is gguf.loaded(lm.engine.file)


def test_what_the_engine_cannot_carry_is_refused_by_name(lm) -> None:
    with pytest.raises(failed.LMUnsupportedFeatureError, match="logprobs"):
        lm("hi", logprobs=True)
    image = lm15.Message.user([lm15.ImagePart(media_type="image/png", data="aGk=")])
    with pytest.raises(failed.LMUnsupportedFeatureError, match="image"):
        lm(lm15.Request(model=lm.model, messages=(image,)))


def test_only_this_process_may_use_the_port_that_llama_cpp_opens(lm) -> None:
    from sqlrag_dspy.lm import gguf

    address = gguf.loaded(lm.engine.file)._server.listening_address
    asked = urllib.request.Request(f"{address}/v1/chat/completions", data=b"{}")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, timeout=10)
    assert refused.value.code == 401


@given(start=st.text(max_size=30), unit=st.text(min_size=12, max_size=120), times=st.integers(5, 9))
def test_an_answer_that_repeats_itself_is_noticed(start, unit, times) -> None:
    from sqlrag_dspy.lm import gguf

    assert gguf.loops(start + unit * times)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT SUM(CASE WHEN a = 1 THEN 1 ELSE 0 END), SUM(CASE WHEN a = 2 THEN 1 ELSE 0 END)",
        "id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)",
        "WHERE city = 'Delft' OR city = 'Ghent' OR city = 'Oslo' OR city = 'Delft' OR city = 'Delft'",
        "-----------------------------------------",
    ],
)
def test_what_only_resembles_itself_goes_on(text) -> None:
    from sqlrag_dspy.lm import gguf

    assert not [end for end in range(len(text)) if gguf.loops(text[:end])]


def test_an_answer_that_repeats_itself_ends_with_its_bill(path, monkeypatch) -> None:
    from sqlrag_dspy.lm import gguf

    lm = connect(f"gguf:{path}", **SETUP)
    whole = lm.engine.complete(request(max_tokens=40))
    monkeypatch.setattr(gguf, "loops", lambda text: len(text) >= len(whole.text) // 2)
    cut = lm.engine.complete(request(max_tokens=40))
    assert cut.finish_reason == "length"
    assert whole.text.startswith(cut.text)
    assert 0 < cut.usage.output_tokens < 40
    assert cut.usage.input_tokens == whole.usage.input_tokens


# --- streams and tasks ------------------------------------------------------------------------------


def told(events: list[Any]) -> str:
    return "".join(event.delta.text for event in events if event.type == "delta")


def test_a_stream_says_what_a_call_says(lm) -> None:
    events = list(lm.engine.stream(request(max_tokens=10)))
    assert [events[0].type, events[-1].type] == ["start", "end"]
    assert told(events) == lm.engine.complete(request(max_tokens=10)).text
    assert events[-1].usage.output_tokens == 10


def test_a_stream_that_is_left_makes_way(lm) -> None:
    stream = lm.engine.stream(request(max_tokens=2000))
    next(stream)
    stream.close()
    start = time.monotonic()
    lm("hi", max_tokens=1)
    assert time.monotonic() - start < 20


def test_asynchronous_calls_and_streams(lm) -> None:
    async def several() -> tuple[list[str], list[Any]]:
        said = await asyncio.gather(*(lm.acall(f"number {n}", max_tokens=5) for n in range(4)))
        events = [event async for event in lm._async_engine_spec.stream(request(max_tokens=10))]
        return [one[0] for one in said], events

    said, events = asyncio.run(several())
    assert said == [lm(f"number {n}", max_tokens=5)[0] for n in range(4)]
    assert told(events) == lm.engine.complete(request(max_tokens=10)).text


def test_a_cancelled_task_makes_way(lm) -> None:
    async def leave() -> None:
        await asyncio.wait_for(lm.acall("long", max_tokens=4000), timeout=0.1)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(leave())
    assert lm("hi", max_tokens=1)


def test_dspy_streams_through_it(lm) -> None:
    async def read() -> list[Any]:
        program = dspy.streamify(dspy.Predict("question -> answer"))
        return [item async for item in program(question="hi")]

    with dspy.context(lm=lm.copy(max_tokens=10), adapter=adapter_of(lm)):
        items = asyncio.run(read())
    assert isinstance(items[-1], dspy.Prediction)


# --- what goes wrong --------------------------------------------------------------------------------


def test_a_call_that_takes_too_long_is_ended(path, lm) -> None:
    slow = connect(f"gguf:{path}", **{**SETUP, "timeout": 0.1})
    start = time.monotonic()
    with pytest.raises(failed.LMTimeoutError) as late:
        slow("write on", max_tokens=4000)
    assert time.monotonic() - start < 20
    line = str(explain(late.value))
    assert "tiny.gguf" in line
    assert "0.1 seconds" in line
    assert lm("hi", max_tokens=1)  # the queue goes on


class Hangs:
    """A server that takes a call and says nothing until it is let go."""

    def __init__(self) -> None:
        self.may_end = threading.Event()

    def handle_chat_completions(self, body: Any, hear: Any) -> None:
        self.may_end.wait(60)
        hear({"choices": [{"delta": {"content": "late"}, "finish_reason": "stop"}]})


def test_a_call_that_hangs_costs_its_own_time_and_no_other_call_waits_for_it(path, monkeypatch) -> None:
    from sqlrag_dspy.lm import gguf

    monkeypatch.setattr(gguf, "_GRACE", 0.2)
    lm = connect(f"gguf:{path}", context=320, **{**SETUP, "timeout": 0.2})
    model, hanging = gguf.loaded(lm.engine.file), Hangs()
    monkeypatch.setattr(model, "_server", hanging)
    start = time.monotonic()
    with pytest.raises(failed.LMTimeoutError, match="did not respond"):
        lm("one")
    with pytest.raises(failed.LMTimeoutError, match="hangs in an earlier call"):
        lm("two")
    assert time.monotonic() - start < 20
    hanging.may_end.set()
    assert lm("three") == ["late"]  # it came back, and the queue goes on


def test_a_prompt_that_is_too_long_says_by_how_much(path) -> None:
    small = connect(f"gguf:{path}", context=256, **SETUP)
    with pytest.raises(failed.ContextWindowExceededError) as caught:
        small("word " * 200)
    line = str(explain(caught.value))
    assert "256" in line
    assert "ask about less text" in line


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["no model file", "put it there"]),
        (b"", ["not a GGUF file"]),
        (b"a text", ["not a GGUF file"]),
    ],
)
def test_a_file_that_is_no_model_fails_at_once_in_one_line(tmp_path, content, words) -> None:
    place = tmp_path / "m.gguf"
    if content is not None:
        place.write_bytes(content)
    with pytest.raises(LmError) as caught:
        connect(f"gguf:{place}")
    line = str(caught.value)
    assert str(place) in line
    assert "\n" not in line
    assert not [word for word in words if word not in line], line


@pytest.mark.parametrize("kept", [4, 7, 20, 30, 3000, 100_000, -1])
def test_a_file_that_was_cut_short_is_refused_before_any_call(path, tmp_path, kept) -> None:
    place = tmp_path / "cut.gguf"
    place.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(LmError) as caught:
        connect(f"gguf:{place}", **SETUP)
    line = str(caught.value)
    assert "\n" not in line
    assert "cut short" in line
    assert str(place) in line
    assert "fetch the file again" in line


@settings(max_examples=15, deadline=None)
@given(tail=st.binary(max_size=200))
def test_bytes_that_only_begin_like_a_model_never_end_the_process(tmp_path_factory, tail) -> None:
    place = tmp_path_factory.mktemp("bytes") / "m.gguf"
    place.write_bytes(b"GGUF" + tail)
    with pytest.raises((LmError, failed.LMConfigurationError)):
        connect(f"gguf:{place}", **SETUP)("hi")


def test_a_model_larger_than_memory_is_named_as_such(path, monkeypatch, tmp_path) -> None:
    from sqlrag_dspy.lm import gguf

    place = tmp_path / "large.gguf"
    place.write_bytes(path.read_bytes().replace(b"llama.block_count", b"llama.block_caunt"))  # loads nowhere
    monkeypatch.setattr(gguf, "_free_memory", lambda: 10)
    with pytest.raises(failed.LMConfigurationError, match="does not fit into memory"):
        connect(f"gguf:{place}", **SETUP)("hi")


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("gguf:", {}, ["names no file"]),
        ("{}", {"context": 0}, ["context", "above 0"]),
        ("{}", {"threads": -1}, ["threads", "above 0"]),
        ("{}", {"temprature": 1}, ["'temprature'", "temperature"]),
        ("{}", {"api_base": "http://localhost"}, ["'api_base'"]),
        ("{}", {"timeout": 0}, ["timeout", "above 0"]),
    ],
)
def test_wrong_options_fail_at_once(path, name, options, words) -> None:
    with pytest.raises(LmError) as caught:
        connect(name.format(f"gguf:{path}"), **options)
    assert not [word for word in words if word not in str(caught.value)], str(caught.value)


def test_without_the_library_one_line_says_how_to_install_it(path) -> None:
    code = (
        "import sys; sys.modules['xllamacpp'] = None\n"
        "from sqlrag_dspy.lm import connect\n"
        f"connect({f'gguf:{path}'!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    line = done.stderr.strip().splitlines()[-1]
    assert "pip install xllamacpp" in line


def test_a_process_ends_whatever_the_model_is_doing(path) -> None:
    code = (
        "import dspy\nfrom sqlrag_dspy.lm import connect\n"
        f"lm = connect({f'gguf:{path}'!r}, cache=False, threads=1)\n"
        "stream = lm.engine.stream(dspy.lm15.Request(model='m', messages=(dspy.lm15.Message.user('hi'),)))\n"
        "print(next(stream).type)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "start", "")


# --- saved and copied -------------------------------------------------------------------------------


def test_a_saved_program_runs_again_from_the_same_file(path, lm, tmp_path) -> None:
    program = dspy.Predict(Choose)
    program.set_lm(lm)
    saved = tmp_path / "program.json"
    program.save(str(saved))
    again = dspy.Predict(Choose)
    again.load(str(saved), allow_unsafe_lm_state=True)
    assert again.lm.engine.dump_state() == lm.engine.dump_state()
    with dspy.context(adapter=adapter_of(lm)):
        assert again(question="which?").toDict() == program(question="which?").toDict()


def test_a_saved_program_loads_where_its_file_is_missing(path, tmp_path) -> None:
    gone = tmp_path / "gone.gguf"
    gone.write_bytes(path.read_bytes())
    program = dspy.Predict(Choose)
    program.set_lm(connect(f"gguf:{gone}", **SETUP))
    saved = tmp_path / "program.json"
    program.save(str(saved))
    gone.unlink()
    again = dspy.Predict(Choose)
    again.load(str(saved), allow_unsafe_lm_state=True)
    with pytest.raises(failed.LMConfigurationError) as caught:
        again(question="which?")
    line = str(explain(caught.value))
    assert f"no model file {gone}" in line
    assert "\n" not in line


def test_copies_share_the_model(lm) -> None:
    assert copy.deepcopy(lm.engine) is lm.engine
    again = pickle.loads(pickle.dumps(lm.engine))  # noqa: S301
    assert isinstance(again, LlamaEngine)
    assert again.dump_state() == lm.engine.dump_state()


def test_a_replaced_file_is_another_model(path, tmp_path) -> None:
    from tiny_gguf import write

    place = tmp_path / "m.gguf"
    place.write_bytes(path.read_bytes())
    setup = {**SETUP, "cache": True}
    before = connect(f"gguf:{place}", **setup)("hi", max_tokens=12)
    write(place, seed=5)
    lm = connect(f"gguf:{place}", **setup)
    after = lm("hi", max_tokens=12)
    assert after != before
    assert lm("hi", max_tokens=12) == after
    assert lm.history[-1]["usage"] == {}  # the second time from DSPy's cache


def test_a_closed_engine_loads_again(path) -> None:
    lm = connect(f"gguf:{path}", context=300, **SETUP)
    first = lm("hi", max_tokens=4)
    lm.engine.close()
    assert lm("hi", max_tokens=4) == first


def test_the_event_loop_goes_on_while_the_model_writes(lm) -> None:
    async def count() -> int:
        ticks = 0
        task = asyncio.ensure_future(lm.acall("hi", max_tokens=200))
        while not task.done():
            await asyncio.sleep(0.001)
            ticks += 1
        return ticks

    assert asyncio.run(count()) > 5
