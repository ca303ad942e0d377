"""The program: route the question, gather the evidence, answer from it."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import dspy

from sqlrag_dspy.errors import ProgramError
from sqlrag_dspy.program import gather, respond, route, write_sql
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.program.demonstrations import Demonstrations
from sqlrag_dspy.program.engine import Engine
from sqlrag_dspy.program.inquiry import Inquiry, Listener
from sqlrag_dspy.program.plan import Plan
from sqlrag_dspy.program.result import Answer, Depth, Step
from sqlrag_dspy.program.router import Router
from sqlrag_dspy.program.signatures import BuildSql, ChooseRows, RepairSql, RouteQuestion, WriteAnswer
from sqlrag_dspy.program.sketching.sketch import Sketcher
from sqlrag_dspy.program.team import agent, work
from sqlrag_dspy.program.team.depth import DepthChooser
from sqlrag_dspy.program.team.stages import Team
from sqlrag_dspy.program.thresholds import Thresholds
from sqlrag_dspy.source import Cancellation

LATER = ("team.", "depths")
"""How the names of parts begin that programs saved by earlier versions lack."""


class SqlRag(dspy.Module):
    """Answers questions over bound databases. The names of its parts are a file format.

    `lm` is a dspy.LM, "dspy" for the application's own `dspy.settings.lm`, or None for the learned tier
    alone. With `gate_open` False the learned tier never decides while an LM can: so that optimizers see
    every LM call of every question. `depth` forces one depth for SQL (see docs/team.md) in place of what a
    question needs, and `without` leaves out parts of the team: both are for measuring what they are worth.
    """

    def __init__(
        self,
        databases: Mapping[str, Database] | None = None,
        *,
        lm: Any = None,
        lm_small: Any = None,
        depth: Depth | None = None,
        without: Collection[str] = (),
    ) -> None:
        super().__init__()
        self.router = Router()
        self.sketcher = Sketcher()
        self.thresholds = Thresholds()
        self.demonstrations = Demonstrations()
        self.route_question = dspy.Predict(RouteQuestion)
        self.build_sql = dspy.Predict(BuildSql)
        self.repair_sql = dspy.Predict(RepairSql)
        self.choose_rows = dspy.Predict(ChooseRows)
        self.write_answer = dspy.Predict(WriteAnswer)
        self.team = Team()
        self.depths = DepthChooser()
        self.databases: dict[str, Database] = dict(databases or {})
        self.engine = Engine(lm, lm_small)
        self.gate_open = True
        self.depth = depth
        self.without = frozenset(without)
        self.left_out: list[str] = []
        """Demonstrations that loading left out because they do not fit the database, a line each."""

    def forward(self, question: str, database: str | None = None) -> dspy.Prediction:
        """Route the question, gather the evidence, answer from it."""
        inquiry = Inquiry(question, self.bound(database))
        return self.answer(inquiry)

    def answer(self, inquiry: Inquiry) -> dspy.Prediction:
        """The same three steps for a question already opened (with a listener, say)."""
        with self.engine.running(), inquiry.meter.running():
            plan = route.decide(self, inquiry)
            evidence = self.gather(inquiry, plan)
            answer = respond.write(self, inquiry, plan, evidence)
        return dspy.Prediction(result=answer, **answer.model_dump(exclude={"question"}))

    def gather(self, inquiry: Inquiry, plan: Plan) -> gather.Evidence:
        """Run SQL, or search, or search inside exactly the rows that SQL chose; nothing for a decline.

        A question that takes several hops goes to an agent that does so step by step.
        """
        if work.is_for_agent(self, inquiry, plan) and (found := agent.compute(self, inquiry)) is not None:
            return found
        if plan.route == "sql":
            return write_sql.compute(self, inquiry, plan)
        if plan.route in ("vector", "hybrid"):
            return gather.search(self, inquiry, plan)
        return gather.Evidence()

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> None:
        """The state of a saved program; parts that it is too old to know stay as they are.

        Raises KeyError for any other part that is missing.
        """
        known = {name: part.dump_state() for name, part in self.named_parameters() if name.startswith(LATER)}
        super().load_state({**known, **state}, allow_unsafe_lm_state=allow_unsafe_lm_state)

    # --- databases -----------------------------------------------------------------------------------

    @property
    def program(self) -> SqlRag:
        """The dspy.Module itself: what DSPy's tools take."""
        return self

    def bind(self, database: Database) -> SqlRag:
        """Adds a database; the first one bound is the default."""
        self.databases[database.name] = database
        return self

    def bound(self, name: str | None = None) -> Database:
        """The database of that name, or the default. Raises ProgramError naming those bound."""
        if name is None:
            if not self.databases:
                raise ProgramError("no database is bound; pass source= to load, or bind one")
            return next(iter(self.databases.values()))
        if name not in self.databases:
            known = ", ".join(self.databases) or "none"
            raise ProgramError(f"no database named {name!r} is bound; bound are: {known}")
        return self.databases[name]

    # --- asking --------------------------------------------------------------------------------------

    def ask(
        self,
        question: str,
        *,
        database: str | None = None,
        trace: bool = False,
        listener: Listener | None = None,
    ) -> Answer:
        """The answer to one question. Steps carry their input and output when `trace` is set.

        Raises SqlRagError for an empty question, or when the index or source cannot be used (SourceBusy: ask again
        later); Cancelled when the `Cancellation` that this thread is under says so.
        """
        prediction = self.answer(Inquiry(question, self.bound(database), listener))
        answer: Answer = prediction.result
        if not trace:
            for step in answer.steps:
                step.input = step.output = None
        return answer

    async def aask(self, question: str, *, database: str | None = None, trace: bool = False) -> Answer:
        """`ask` without blocking the event loop. Cancelling the task stops its query."""
        with Cancellation() as cancellation:
            try:
                return await asyncio.to_thread(self.ask, question, database=database, trace=trace)
            except asyncio.CancelledError:
                cancellation.cancel()
                raise

    def stream(self, question: str, *, database: str | None = None) -> Iterator[Step | str | Answer]:
        """Steps as they finish, then the answer's text, then the Answer. Closing it early stops its query."""
        events: queue.Queue[Any] = queue.Queue()

        cancellation = Cancellation()

        def work() -> None:
            try:
                with cancellation:
                    answer = self.ask(question, database=database, trace=True, listener=events.put)
                events.put(answer)
            except BaseException as error:  # noqa: BLE001 - handed to the reader below, which raises it
                events.put(error)

        # The thread sees the DSPy settings (an LM, callbacks) of whoever reads the stream.
        settings = contextvars.copy_context()
        threading.Thread(target=settings.run, args=(work,), daemon=True).start()
        try:
            while True:
                event = events.get()
                if isinstance(event, BaseException):
                    raise event
                if isinstance(event, Answer):
                    yield event.answer
                    yield event
                    return
                yield event
        finally:
            cancellation.cancel()

    def close(self) -> None:
        """Stops the workers of every bound database."""
        for database in self.databases.values():
            database.close()

    def __enter__(self) -> SqlRag:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
