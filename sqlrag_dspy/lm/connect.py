"""A model's name to a `dspy.LM`, checked as far as it can be without calling the model.

Leaves out `dspy.configure`: whoever asked for the model decides where it is used.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from sqlrag_dspy.errors import LmError
from sqlrag_dspy.lm.account import account, check_address

EXAMPLES = "'gemini/gemini-2.5-flash', 'openai/gpt-4o-mini' or 'gguf:/path/model.gguf'"
_ACCOUNT_OPTIONS = ("api_key", "vertexai", "project", "location")
_LM_OPTIONS = frozenset(
    {
        *("temperature", "max_tokens", "top_p", "top_k", "stop", "seed"),
        *("frequency_penalty", "presence_penalty", "reasoning_effort"),
        *("n", "num_retries", "callbacks", "rollout_id"),
    }
)


def connect(
    name: str,
    *,
    cache: bool = True,
    timeout: float = 60.0,
    threads: int | None = None,
    environ: Mapping[str, str] | None = None,
    **options: Any,
) -> Any:
    """The `dspy.LM` of that name; no network, and `dspy.configure` is not called.

    `gemini/MODEL` goes through google-genai (`GenaiEngine`), with GEMINI_API_KEY or GOOGLE_API_KEY, or over
    Vertex AI when GOOGLE_GENAI_USE_VERTEXAI is set; `gguf:FILE` runs in this process (`LlamaEngine`), on at most
    `threads` processors and with a `context` of so many tokens; every other name is DSPy's own. `timeout` is in seconds
    an attempt; where it may pass, the call is tried once more (Gemini, which says how long to wait: three
    times), so that a lost server is noticed within seconds. `options` go to `dspy.LM` (temperature,
    max_tokens, num_retries, …); `api_base` (or `base_url`)
    and `api_key` override the environment, which `environ` replaces.

    Raises LmError for an empty or unknown name, a missing key (naming its variables), a file that is no model or
    cannot be run here, an address that is not a URL, and an option that the model cannot take.
    """
    if not isinstance(name, str) or not name.strip():
        raise LmError(f"no language model is named; give lm a name such as {EXAMPLES}")
    name = name.strip()
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
        raise LmError(f"timeout is {timeout!r}; give a number of seconds above 0")
    if "base_url" in options:
        options["api_base"] = options.pop("base_url")
    if options.get("api_base") is not None:
        check_address(str(options["api_base"]))
    if name.startswith("gguf:"):
        return _gguf(name, cache=cache, timeout=timeout, threads=threads, options=options)
    if name.startswith("gemini/"):
        return _gemini(name, cache=cache, timeout=timeout, environ=environ, options=options)
    return _other(name, cache=cache, timeout=timeout, environ=environ, options=options)


def adapter_of(lm: Any) -> Any:
    """The DSPy adapter that serves `lm` best, None for DSPy's own choice."""
    make = getattr(getattr(lm, "engine", None), "adapter", None)
    return make() if callable(make) else None


def _gemini(
    name: str, *, cache: bool, timeout: float, environ: Mapping[str, str] | None, options: dict[str, Any]
) -> Any:
    if not name.removeprefix("gemini/").strip():
        raise LmError(f"{name!r} names no model; write it like 'gemini/gemini-2.5-flash'")
    given = {option: options.pop(option) for option in _ACCOUNT_OPTIONS if option in options}
    first_wait = float(options.pop("first_wait", 1.0))
    who = account(environ, base_url=options.pop("api_base", None), timeout=timeout, **given)
    who.check(name)
    _check_options(name, options, _LM_OPTIONS)

    from sqlrag_dspy.lm.genai import AsyncGenaiEngine, GenaiEngine

    return _lm(
        name,
        cache=cache,
        engine=GenaiEngine(who, first_wait=first_wait),
        async_engine=AsyncGenaiEngine(who, first_wait=first_wait),
        **options,
    )


def _gguf(name: str, *, cache: bool, timeout: float, threads: int | None, options: dict[str, Any]) -> Any:
    place = name.removeprefix("gguf:").strip()
    if not place:
        raise LmError(f"{name!r} names no file; write it like 'gguf:/path/model.gguf'")
    from dspy import lm15

    from sqlrag_dspy.lm import gguf
    from sqlrag_dspy.lm.llama import AsyncLlamaEngine, LlamaEngine

    context = options.pop("context", gguf.CONTEXT)
    if not _is_count(context) or not _is_count(threads or 1):
        raise LmError(f"{name}: context ({context!r}) and threads ({threads!r}) are whole numbers above 0")
    _check_options(name, options, _LM_OPTIONS - {"reasoning_effort"})
    processors = min(threads or gguf.THREADS, os.cpu_count() or 1)
    file = gguf.ModelFile(str(Path(place).expanduser().absolute()), context=context, threads=processors)
    try:
        file.check()
        gguf.library()
    except lm15.ConfigurationError as error:
        raise LmError(error.message) from error
    options.setdefault("num_retries", 0)  # what failed here fails again
    if options.get("temperature") == 0:
        del options["temperature"]  # the engine's own default; DSPy would warn of it beside the next line
    # DSPy's cache knows a model by its name; a file that was replaced is another model.
    options.setdefault("rollout_id", gguf.identity(file.path))
    return _lm(
        name,
        cache=cache,
        engine=LlamaEngine(file, timeout=timeout),
        async_engine=AsyncLlamaEngine(file, timeout=timeout),
        **options,
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _check_options(name: str, options: Mapping[str, Any], known: frozenset[str]) -> None:
    if unknown := sorted(options.keys() - known):
        raise LmError(f"{name} takes no option {unknown[0]!r}; known options: {', '.join(sorted(known))}")


def _other(
    name: str, *, cache: bool, timeout: float, environ: Mapping[str, str] | None, options: dict[str, Any]
) -> Any:
    variables = os.environ if environ is None else environ
    prefix = name.partition("/")[0].upper().replace("-", "_") if "/" in name else "OPENAI"
    if options.get("api_base") is None:
        stated = (variables.get(f"{prefix}_{ending}", "").strip() for ending in ("API_BASE", "BASE_URL"))
        options["api_base"] = next((address for address in stated if address), None)
        if options["api_base"] is not None:
            check_address(options["api_base"])
    if options["api_base"] is None:
        del options["api_base"]
    options.setdefault("num_retries", 1)
    lm = _lm(name, cache=cache, timeout=timeout, **options)
    if not _is_native(lm):
        # DSPy leaves its own client for LiteLLM when the address stands in the environment; here it is in the
        # options as well, so its own client can serve it.
        own = lm.copy(engine="lm15") if "api_base" in options else lm
        if _is_native(own):
            lm = own
        else:
            _import_litellm(lm.model)
    if options.get("api_key"):
        return lm
    key = _find_key(lm, variables)
    # The environment given to us is not the one that DSPy reads; and a local server wants no key, but the
    # OpenAI protocol does.
    if key is not None and environ is not None:
        lm.kwargs["api_key"] = key
    elif key is None and "api_base" in options:
        lm.kwargs["api_key"] = "none"
    return lm


def _lm(name: str, **settings: Any) -> Any:
    import dspy
    from dspy.clients.model_metadata import model_info

    with _offline():
        model_info("", name)  # read once a process
    try:
        return dspy.LM(name, **settings)
    except (TypeError, ValueError, dspy.LMError) as error:
        raise LmError(f"{name} cannot be set up: {' '.join(str(error).split())}") from error


def _find_key(lm: Any, environ: Mapping[str, str]) -> str | None:
    """The key for `lm` in `environ`; None when it needs none.

    Raises LmError when a needed key is missing or no provider is known.
    """
    from dspy.clients.backend_selection import select_backend

    # DSPy's provider table; it has no public door.
    registry = import_module("dspy._vendor.lm15.registry")
    route = select_backend(lm).resolution
    known = registry.lookup(route.provider) if route is not None else None
    if known is None:
        missing = () if "api_base" in lm.kwargs else _litellm_missing(lm.model, environ)
        if missing:
            raise LmError(f"no key for {lm.model}; set {' and '.join(missing)}")
        return None
    wanted = known.access.env_keys if known.placeholder_key is None else ()
    found = next((environ[variable] for variable in wanted if environ.get(variable, "").strip()), None)
    if found is None and wanted and "api_base" not in lm.kwargs:
        raise LmError(f"no key for {lm.model}; set {' or '.join(wanted)}")
    return found


def _is_native(lm: Any) -> bool:
    """Whether DSPy serves `lm` by its own client, without LiteLLM."""
    from dspy import lm15
    from dspy.clients.backend_selection import select_backend

    try:
        return bool(select_backend(lm).native)
    except (lm15.UnknownModelError, lm15.UnsupportedFeatureError):
        return False


@contextmanager
def _offline() -> Iterator[None]:
    """Inside, LiteLLM and DSPy read the price lists they ship with; both download one when first used."""
    switch = "LITELLM_LOCAL_MODEL_COST_MAP"
    was_set = switch in os.environ
    os.environ.setdefault(switch, "True")
    try:
        yield
    finally:
        if not was_set:
            del os.environ[switch]


def _import_litellm(model: str) -> Any:
    """LiteLLM, imported now so that its import does not download a price list in the first call."""
    from dspy.clients._litellm import get_litellm

    try:
        with _offline():
            return get_litellm(feature="connect")
    except ImportError as error:
        raise LmError(f"{model} needs LiteLLM; install it with 'pip install litellm'") from error


def _litellm_missing(model: str, environ: Mapping[str, str]) -> list[str]:
    """The variables that are not set for a model that only LiteLLM can route."""
    litellm = _import_litellm(model)
    try:
        litellm.get_llm_provider(model)
        missing = litellm.validate_environment(model=model)["missing_keys"]
    except litellm.exceptions.BadRequestError as error:
        raise LmError(f"no provider known for the model {model!r}; name it like {EXAMPLES}") from error
    return [str(variable) for variable in missing if not environ.get(variable)]
