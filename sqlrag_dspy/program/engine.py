"""Which language model serves a program, and in which form it is spoken to."""

from __future__ import annotations

from typing import Any

import dspy


class Engine:
    """Which LM serves: kept out of the program's state, and shared by its copies."""

    def __init__(self, lm: Any = None, small: Any = None) -> None:
        self.lm = lm
        self.small = small

    def __deepcopy__(self, memo: dict[int, Any]) -> Engine:
        return self

    @property
    def is_set(self) -> bool:
        """Whether an LM may be called."""
        return self.current() is not None

    def current(self) -> Any:
        """The LM that serves now, or None."""
        return dspy.settings.lm if self.lm == "dspy" else self.lm

    @property
    def is_brief(self) -> bool:
        """Whether the model that serves should be told little, since it is small; known inside `running`."""
        return bool(getattr(dspy.settings.adapter, "is_brief", False))

    def serving(self, lm: Any = None) -> Any:
        """Inside `running`, a context in which `lm` serves instead; None for the one that serves already."""
        if lm is None:
            return dspy.context()
        from sqlrag_dspy.lm import adapter_of

        own, current = adapter_of(self.current()), dspy.settings.adapter
        is_chosen = current is not None and type(current) is not type(own)
        return dspy.context(lm=lm, adapter=current if is_chosen else adapter_of(lm))

    def running(self) -> Any:
        """A context in which DSPy's predictors use this LM, and the adapter that serves it best.

        An adapter that the application chose stands.
        """
        lm = self.current()
        if lm is None:
            return dspy.context()
        from sqlrag_dspy.lm import adapter_of

        return dspy.context(lm=lm, adapter=dspy.settings.adapter or adapter_of(lm))
