"""`sqlrag ask`: one question, or a file of them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from sqlrag_dspy.cli import arguments, batch, opening
from sqlrag_dspy.cli.answers import show
from sqlrag_dspy.cli.output import Screen
from sqlrag_dspy.errors import SqlRagError

if TYPE_CHECKING:
    from sqlrag_dspy.program import SqlRag


def add(commands: arguments.Commands) -> None:
    """Adds `ask`."""
    parser = arguments.add(
        commands,
        "ask",
        run,
        does="answer a question from the database",
        example='sqlrag ask "technology articles about crypto in 2023" --trace',
    )
    parser.add_argument("question", nargs="?", type=arguments.text, metavar="QUESTION")
    parser.add_argument(
        "--trace", action="store_true", help="show every step: SQL, searches, documents, times"
    )
    parser.add_argument(
        "--batch", metavar="FILE", help='JSON lines {"question": …} in, one answer a line out; - is stdin'
    )
    parser.add_argument("--program", metavar="DIR", help="compiled program: a folder or a shipped name")
    parser.add_argument("--lm", metavar="NAME", help="language model, for example gemini/gemini-2.5-flash")
    arguments.add_session(parser)


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Answers the question, or every line of the file."""
    arguments.one_of(args, "question")
    if args.batch is not None:
        if args.batch != "-":
            open(args.batch, "rb").close()  # before anything slow: is there a file to read?
        with opening.program(args) as rag:
            return answer_all(args.batch, rag, screen, is_traced=args.trace)
    if not args.question.strip():
        raise SqlRagError("the question is empty; ask something")
    with opening.brisk(), opening.program(args) as rag:
        answer = rag.ask(args.question, trace=args.trace)
        if screen.is_json:
            screen.json(answer.model_dump())
        else:
            show(answer, screen, is_traced=args.trace)
    return 0


def answer_all(path: str, rag: SqlRag, screen: Screen, *, is_traced: bool = False) -> int:
    """One Answer a line for one question a line; a line that fails yields an Answer with `error` set."""
    from sqlrag_dspy.program import Answer

    def answer(asked: batch.Line) -> batch.Line:
        return rag.ask(batch.text_of(asked, "question"), trace=is_traced).model_dump()

    def failed(asked: batch.Line, message: str, error: BaseException | None) -> batch.Line:
        question = asked.get("question")
        return Answer(question=question if isinstance(question, str) else "", error=message).model_dump()

    return batch.run(path, screen, answer=answer, failed=failed)
