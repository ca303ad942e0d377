"""The program: route the question, gather the evidence, answer from it."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import dspy

from sqlrag_dspy.errors import ProgramError
from sqlrag_dspy.program import gather, respond, route, write_sql
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.program.inquiry import Inquiry, Listener
from sqlrag_dspy.program.parts import Parts
from sqlrag_dspy.program.plan import Plan
from sqlrag_dspy.program.result import Answer, Step
from sqlrag_dspy.program.team import hops, work
from sqlrag_dspy.source import Cancellation


class SqlRag(Parts):
    """Answers questions over bound databases, with the `Parts` that it is made of (and their arguments)."""

    def __init__(self, databases: Mapping[str, Database] | None = None, **parts: Any) -> None:
        super().__init__(**parts)
        self.databases: dict[str, Database] = dict(databases or {})

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
        if work.is_for_agent(self, inquiry, plan) and (found := hops.compute(self, inquiry)) is not None:
            return found
        if plan.route == "sql":
            return write_sql.compute(self, inquiry, plan)
        if plan.route in ("vector", "hybrid"):
            return gather.search(self, inquiry, plan)
        return gather.Evidence()

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
            raise ProgramError(
                f"no database named {name!r} is bound; bound are: {known} (a database is named for its file, or as "
                "learn.databases.open_trainset names it; bind() adds one)"
            )
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
