"""The Gemini engine against a real local server."""

from __future__ import annotations

import asyncio
import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import dspy
import pytest
from dspy import lm15
from dspy.utils import exceptions as failed
from gemini_server import body, drop, echo, failure, hang, send, stream

from sqlrag_dspy.lm import GenaiEngine, connect, cost_usd, explain

NAME = "gemini/gemini-2.5-flash"
SETUP = {"cache": False, "first_wait": 0.01}


@pytest.fixture
def lm(environ):
    return connect(NAME, environ=environ, **SETUP)


def request(text: str = "hi", **config: Any) -> Any:
    return lm15.Request(model=NAME, messages=(lm15.Message.user(text),), config=lm15.Config(**config))


def retry_info(delay: str) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


class Choose(dspy.Signature):
    """Choose a route."""

    question: str = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="why")
    route: Literal["sql", "vector"] = dspy.OutputField()
    count: int = dspy.OutputField()


# --- what is sent and what comes back ---------------------------------------------------------------


def test_system_sampling_limits_and_turns_reach_gemini(gemini, lm) -> None:
    gemini.says(send(body("fine")))
    said = lm15.Message
    asked = lm15.Request(
        model=NAME,
        system="Be brief.",
        messages=(said.user("one"), said.assistant("two"), said.user("three")),
        config=lm15.Config(temperature=0.2, max_tokens=50, stop=("END",), seed=7),
    )
    assert lm(asked).text == "fine"
    path, headers, asked = gemini.asked[0]
    assert path == "/v1beta/models/gemini-2.5-flash:generateContent"
    assert headers["x-goog-api-key"] == "secret-key"
    assert asked["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert [(turn["role"], turn["parts"][0]["text"]) for turn in asked["contents"]] == [
        ("user", "one"),
        ("model", "two"),
        ("user", "three"),
    ]
    sampling = asked["generationConfig"]
    assert sampling["temperature"] == 0.2
    assert sampling["maxOutputTokens"] == 50
    assert sampling["stopSequences"] == ["END"]
    assert sampling["seed"] == 7


def test_usage_counts_cached_and_thinking_tokens(gemini, lm) -> None:
    counts = {
        "promptTokenCount": 100,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 20,
        "cachedContentTokenCount": 80,
        "totalTokenCount": 125,
    }
    gemini.says(send(body("x", usageMetadata=counts)))
    with dspy.track_usage() as tracker:
        lm("hi")
    total = tracker.get_total_tokens()[NAME]
    assert (total["prompt_tokens"], total["completion_tokens"], total["total_tokens"]) == (100, 25, 125)
    assert total["prompt_tokens_details"]["cached_tokens"] == 80
    assert total["completion_tokens_details"]["reasoning_tokens"] == 20
    assert lm.history[-1]["response_model"] == "gemini-2.5-flash-001"


def test_a_call_has_its_price(gemini, lm) -> None:
    counts = {"promptTokenCount": 1000, "candidatesTokenCount": 100, "thoughtsTokenCount": 400}
    gemini.says(send(body("x", usageMetadata={**counts, "totalTokenCount": 1500})))
    lm("hi")
    price = cost_usd(NAME, lm.history[-1]["usage"])
    assert price == pytest.approx(1000 * 0.30e-6 + 500 * 2.50e-6)
    assert cost_usd("gemini/unheard-of", lm.history[-1]["usage"]) is None
    assert cost_usd("openai/gpt-4o", lm.history[-1]["usage"]) is None


def test_threads_share_one_engine(gemini, lm) -> None:
    gemini.says(echo)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: lm(f"number {n}")[0], range(64)))
    assert found == [f"number {n}" for n in range(64)]


def test_thoughts_are_kept_apart_from_the_answer(gemini, lm) -> None:
    reply = body()
    reply["candidates"][0]["content"]["parts"] = [{"text": "hm", "thought": True}, {"text": "yes"}]
    gemini.says(send(reply))
    assert lm.engine.complete(request()).text == "yes"


def test_thinking_effort_is_a_budget_or_a_level(gemini, lm) -> None:
    gemini.says(send(body()))
    lm("hi", reasoning_effort="low")
    assert gemini.bodies()[-1]["generationConfig"]["thinkingConfig"] == {"thinking_budget": 2048}
    newer = lm.copy(model="gemini/gemini-3-flash")
    newer("hi", reasoning_effort="low")
    assert gemini.bodies()[-1]["generationConfig"]["thinkingConfig"]["thinking_level"].lower() == "low"


def test_what_the_engine_cannot_carry_is_refused_before_sending(gemini, lm) -> None:
    with pytest.raises(failed.LMUnsupportedFeatureError, match="logprobs"):
        lm("hi", logprobs=True)
    image = lm15.Message.user([lm15.ImagePart(media_type="image/png", data="aGk=")])
    with pytest.raises(failed.LMUnsupportedFeatureError, match="image"):
        lm(lm15.Request(model=NAME, messages=(image,)))
    assert gemini.asked == []


@pytest.mark.parametrize("adapter", [dspy.JSONAdapter(), dspy.ChatAdapter()], ids=["json", "chat"])
def test_a_typed_signature(gemini, lm, adapter) -> None:
    as_json = '{"reasoning": "r", "route": "sql", "count": 3}'
    as_chat = (
        "[[ ## reasoning ## ]]\nr\n\n[[ ## route ## ]]\nsql\n\n[[ ## count ## ]]\n3\n\n[[ ## completed ## ]]"
    )
    is_json = isinstance(adapter, dspy.JSONAdapter)
    gemini.says(send(body(as_json if is_json else as_chat)))
    with dspy.context(lm=lm, adapter=adapter):
        found = dspy.Predict(Choose)(question="how many?")
    assert (found.route, found.count, found.reasoning) == ("sql", 3, "r")
    sent = gemini.bodies()[0]["generationConfig"]
    if not is_json:
        assert "responseMimeType" not in sent
        return
    assert sent["responseMimeType"] == "application/json"
    schema = sent["responseJsonSchema"]
    assert schema["properties"]["route"]["enum"] == ["sql", "vector"]
    assert schema["propertyOrdering"] == ["reasoning", "route", "count"]
    assert "$defs" not in schema


def test_the_chat_adapter_falls_back_to_the_schema(gemini, lm) -> None:
    gemini.says(send(body("no idea")), send(body('{"reasoning": "r", "route": "vector", "count": 0}')))
    with dspy.context(lm=lm):
        assert dspy.Predict(Choose)(question="q").route == "vector"
    assert "responseJsonSchema" in gemini.bodies()[1]["generationConfig"]


@pytest.mark.parametrize(
    ("option", "sent"),
    [
        ({"temperature": 0.2}, {"temperature": 0.2}),
        ({"max_tokens": 50}, {"maxOutputTokens": 50}),
        ({"top_p": 0.5}, {"topP": 0.5}),
        ({"top_k": 4}, {"topK": 4}),
        ({"stop": "END"}, {"stopSequences": ["END"]}),
        ({"seed": 7}, {"seed": 7}),
        ({"frequency_penalty": 0.5}, {"frequencyPenalty": 0.5}),
        ({"presence_penalty": 0.5}, {"presencePenalty": 0.5}),
        ({"reasoning_effort": "high"}, {"thinkingConfig": {"thinking_budget": 16384}}),
        ({"n": 2}, {}),
        ({"rollout_id": 3, "temperature": 1.0}, {"temperature": 1.0}),
    ],
)
def test_every_option_of_connect_reaches_gemini(gemini, environ, option, sent) -> None:
    gemini.says(send(body()))
    connect(NAME, environ=environ, **option, **SETUP)("hi")
    assert gemini.bodies()[0].get("generationConfig", {}) == sent
    assert len(gemini.asked) == option.get("n", 1)


def test_answers_are_cached_by_dspy(gemini, environ) -> None:
    gemini.says(send(body("once")))
    lm = connect(NAME, environ=environ)
    question = f"cached? {time.time_ns()}"
    assert lm(question) == lm(question) == ["once"]
    assert len(gemini.asked) == 1


# --- failures ---------------------------------------------------------------------------------------


def test_a_quota_is_waited_for_as_long_as_the_server_says(gemini, lm) -> None:
    gemini.says(
        send(failure(429, "RESOURCE_EXHAUSTED", "slow down", retry_info("0.3s")), 429), send(body("after"))
    )
    start = time.monotonic()
    assert lm("hi") == ["after"]
    assert 0.3 <= time.monotonic() - start < 2
    assert len(gemini.asked) == 2


def test_the_retry_after_header_counts_too(gemini, lm) -> None:
    gemini.says(send(failure(503, "UNAVAILABLE", "busy"), 503, Retry_After="7"))
    with pytest.raises(lm15.ServerError) as caught:
        lm.engine.complete(request())
    assert 7 <= caught.value.retry_after <= 7.7


def test_a_days_quota_is_not_waited_for(gemini, lm) -> None:
    daily = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
    gemini.says(send(failure(429, "RESOURCE_EXHAUSTED", "quota", daily, retry_info("40s")), 429))
    with pytest.raises(failed.LMBillingError, match="quota"):
        lm("hi")
    gemini.says(send(failure(429, "RESOURCE_EXHAUSTED", "quota", retry_info("3600s")), 429))
    with pytest.raises(failed.LMBillingError):
        lm("hi")
    assert len(gemini.asked) == 2


def test_server_errors_are_retried_with_growing_waits_and_a_bound(gemini, lm) -> None:
    gemini.says(send(failure(500, "INTERNAL", "oops"), 500))
    with pytest.raises(failed.LMServerError, match="oops"):
        lm("hi")
    assert len(gemini.asked) == 4  # num_retries=3
    waits = []
    asked = request()
    for _ in range(4):
        with pytest.raises(lm15.ServerError) as caught:
            lm.engine.complete(asked)
        waits.append(caught.value.retry_after)
    assert all(0.005 * 2**n <= wait <= 0.01 * 2**n for n, wait in enumerate(waits)), waits


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (
            send(failure(400, "INVALID_ARGUMENT", "API key not valid. secret-key"), 400),
            failed.LMAuthError,
            "API key",
        ),
        (send(failure(403, "PERMISSION_DENIED", "no"), 403), failed.LMAuthError, "no"),
        (send(failure(404, "NOT_FOUND", "no such model"), 404), failed.LMUnsupportedModelError, "model"),
        (send(failure(400, "INVALID_ARGUMENT", "bad field"), 400), failed.LMInvalidRequestError, "bad field"),
        (
            send(failure(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum"), 400),
            failed.ContextWindowExceededError,
            "token",
        ),
        (send(body(None, finish="SAFETY")), failed.LMInvalidRequestError, "SAFETY"),
        (send(body("half", finish="RECITATION")), failed.LMInvalidRequestError, "RECITATION"),
        (
            send({"promptFeedback": {"blockReason": "SAFETY"}}),
            failed.LMInvalidRequestError,
            "blocked the prompt",
        ),
        (send(body(None, finish="MAX_TOKENS")), failed.LMInvalidRequestError, "raise max_tokens"),
    ],
)
def test_lasting_failures_are_not_retried(gemini, lm, reply, kind, words) -> None:
    gemini.says(reply)
    with pytest.raises(kind) as caught:
        lm("hi")
    assert len(gemini.asked) == 1
    assert words in str(caught.value)
    assert "secret-key" not in str(caught.value)
    line = str(explain(caught.value, NAME))
    assert "\n" not in line
    assert NAME in line


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (send(b"<html>not json"), failed.LMServerError),
        (send(b""), failed.LMServerError),
        (send(b"<html>bad gateway", 502), failed.LMServerError),
        (send({"candidates": "what?"}), failed.LMServerError),
        (send({}), failed.LMServerError),
        (send(body("", finish="STOP")), failed.LMServerError),
        (send(body(None, finish="MALFORMED_RESPONSE")), failed.LMServerError),
        (send(failure(504, "DEADLINE_EXCEEDED", "late"), 504), failed.LMTimeoutError),
        (drop, failed.LMTransportError),
    ],
)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_transient_failures_are_retried_then_named(gemini, environ, reply, kind, is_async) -> None:
    lm = connect(NAME, environ=environ, num_retries=1, **SETUP)
    gemini.says(reply)
    with pytest.raises(kind):
        asyncio.run(lm.acall("hi")) if is_async else lm("hi")
    assert len(gemini.asked) == 2
    gemini.says(reply, send(body("recovered")))
    assert (asyncio.run(lm.acall("hi")) if is_async else lm("hi")) == ["recovered"]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_slow_server_is_left_after_the_time_out(gemini, environ, is_async) -> None:
    gemini.says(hang(1.5))
    lm = connect(NAME, environ=environ, timeout=0.2, num_retries=0, **SETUP)
    start = time.monotonic()
    with pytest.raises(failed.LMTimeoutError, match="in time"):
        asyncio.run(lm.acall("hi")) if is_async else lm("hi")
    assert time.monotonic() - start < 1.4


def test_nobody_listening(environ) -> None:
    lm = connect(NAME, environ=environ, base_url="http://127.0.0.1:9", num_retries=0, **SETUP)
    with pytest.raises(failed.LMTransportError) as caught:
        lm("hi")
    assert "check the network" in str(explain(caught.value))


# --- streams ----------------------------------------------------------------------------------------


def pieces(lm: Any, is_async: bool) -> list[Any]:
    async def collect() -> list[Any]:
        return [event async for event in lm._async_engine_spec.stream(request())]

    return asyncio.run(collect()) if is_async else list(lm.engine.stream(request()))


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_stream_is_the_same_answer_in_pieces(gemini, lm, is_async) -> None:
    gemini.says(stream(body("one ", finish=None), body("two", finish=None), body(None, finish="STOP")))
    events = pieces(lm, is_async)
    assert [event.type for event in events] == ["start", "delta", "delta", "end"]
    assert "".join(event.delta.text for event in events[1:-1]) == "one two"
    assert events[-1].finish_reason == "stop"
    assert events[-1].usage.input_tokens == 11
    assert gemini.asked[0][0].startswith("/v1beta/models/gemini-2.5-flash:streamGenerateContent")


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("cut", [False, True], ids=["no-finish", "cut"])
def test_a_stream_that_ends_early_is_a_transport_error(gemini, lm, is_async, cut) -> None:
    gemini.says(stream(body("one ", finish=None), cut=cut))
    with pytest.raises(lm15.TransportError):
        pieces(lm, is_async)


def test_a_stream_that_is_blocked_on_the_way(gemini, lm) -> None:
    gemini.says(stream(body("one ", finish=None), body(None, finish="SAFETY")))
    with pytest.raises(lm15.InvalidRequestError, match="SAFETY"):
        pieces(lm, False)


def test_dspy_streams_fields_through_it(gemini, lm) -> None:
    text = "[[ ## answer ## ]]\nforty two is the answer\n\n[[ ## completed ## ]]"
    chunks = [body(text[n : n + 7], finish=None) for n in range(0, len(text), 7)]
    gemini.says(stream(*chunks, body(None, finish="STOP")))
    program = dspy.streamify(
        dspy.Predict("question -> answer"),
        stream_listeners=[dspy.streaming.StreamListener(signature_field_name="answer")],
    )

    async def run() -> list[Any]:
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            return [piece async for piece in program(question="q")]

    found = asyncio.run(run())
    assert isinstance(found[-1], dspy.Prediction)
    assert (
        "".join(piece.chunk for piece in found[:-1]).strip() == found[-1].answer == "forty two is the answer"
    )


# --- copies and saved programs ----------------------------------------------------------------------


def test_a_program_that_holds_the_model_is_saved_without_the_key(gemini, lm, tmp_path, monkeypatch) -> None:
    program = dspy.Predict(Choose)
    program.set_lm(lm)
    program.save(tmp_path / "program.json")
    saved = (tmp_path / "program.json").read_text()
    assert "secret-key" not in saved
    for variable in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(variable, raising=False)

    again = dspy.Predict(Choose)
    again.load(tmp_path / "program.json", allow_unsafe_lm_state=True)
    with pytest.raises(failed.LMNotConfiguredError, match="GEMINI_API_KEY"):
        again(question="q")
    monkeypatch.setenv("GEMINI_API_KEY", "another")
    gemini.says(send(body('{"reasoning": "r", "route": "sql", "count": 1}')))
    with dspy.context(adapter=dspy.JSONAdapter()):
        assert again(question="q").route == "sql"
    assert gemini.asked[-1][1]["x-goog-api-key"] == "another"
    assert again.lm.engine.account.timeout == lm.engine.account.timeout


def test_a_whole_program_folder_loads_again(gemini, lm, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.url)
    program = dspy.ChainOfThought("question -> answer")
    program.set_lm(lm)
    program.save(tmp_path / "whole", save_program=True)
    assert not [
        file
        for file in (tmp_path / "whole").rglob("*")
        if file.is_file() and b"secret-key" in file.read_bytes()
    ]
    again = dspy.load(tmp_path / "whole", allow_pickle=True)
    gemini.says(send(body('{"reasoning": "r", "answer": "a"}')))
    with dspy.context(adapter=dspy.JSONAdapter()):
        assert again(question="q").answer == "a"


def test_copies_share_the_connection_and_pickles_hold_no_key(lm) -> None:
    assert copy.deepcopy(lm).engine is lm.engine
    assert "secret-key" not in repr(lm.engine.account)
    data = pickle.dumps(lm.engine)
    assert b"secret-key" not in data
    assert isinstance(pickle.loads(data), GenaiEngine)  # noqa: S301 (our own bytes)


def test_closing_is_not_the_end(gemini, lm) -> None:
    gemini.says(send(body("a")))
    assert lm("hi") == ["a"]
    lm.engine.close()
    assert lm("hi") == ["a"]
