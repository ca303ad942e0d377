"""Three public test collections as databases with judged questions, for `measure_relevance.py gold OUT`.

    python scripts/convert_collections.py OUT CISI_FOLDER CRANFIELD_FOLDER NPL_FOLDER

Folders as the University of Glasgow distributes them, needed only in part: CISI.ALL, CISI.QRY, CISI.REL;
cran.all.1400, cran.qry, cranqrel; doc-text, query-text, rlv-ass. No question has a SQL filter.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

Judged = dict[int, set[int]]
"""Question -> its relevant documents."""
Document = tuple[int, str | None, str]
"""Number, title, text."""


def main(out: Path, cisi: Path, cranfield: Path, npl: Path) -> None:
    (out / "gold").mkdir(parents=True, exist_ok=True)
    with (out / "gold" / "filtered_recall_part.jsonl").open("w", encoding="utf-8") as lines:
        documents = [(int(e["I"]), e["T"], e["W"]) for e in entries(cisi / "CISI.ALL")]
        questions = [(int(e["I"]), e["W"]) for e in entries(cisi / "CISI.QRY")]
        lines.writelines(write(out, "cisi", documents, questions, judged(cisi / "CISI.REL")))

        # A text begins with its title again; questions are judged by their place in the file, not by number.
        documents = [
            (int(e["I"]), e["T"], e["W"].removeprefix(e["T"]).strip())
            for e in entries(cranfield / "cran.all.1400")
        ]
        questions = [(at, e["W"]) for at, e in enumerate(entries(cranfield / "cran.qry"), 1)]
        lines.writelines(write(out, "cran", documents, questions, judged(cranfield / "cranqrel")))

        titleless = [(number, None, text) for number, text in blocks(npl / "doc-text")]
        questions = [(number, text.lower()) for number, text in blocks(npl / "query-text")]
        answers = {number: set(map(int, text.split())) for number, text in blocks(npl / "rlv-ass")}
        lines.writelines(write(out, "npl", titleless, questions, answers))


def entries(path: Path) -> Iterator[dict[str, str]]:
    """Entries of a file in SMART's format: the letter of each field and its text, in one line."""
    for part in re.split(r"^\.I\s+", path.read_text("utf-8", "replace"), flags=re.MULTILINE)[1:]:
        number, _, rest = part.partition("\n")
        fields = {"I": number.strip(), "T": "", "W": ""}
        pieces = re.split(r"^\.([A-Z])\s*$", rest, flags=re.MULTILINE)
        for letter, text in zip(pieces[1::2], pieces[2::2]):
            fields[letter] = " ".join(text.split())
        yield fields


def blocks(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered blocks of a file, which lines of one slash end."""
    for block in re.split(r"^\s*/\s*$", path.read_text("utf-8", "replace"), flags=re.MULTILINE):
        number, *words = block.split() or [""]
        if number.isdigit():
            yield int(number), " ".join(words)


def judged(path: Path) -> Judged:
    """Lines of question, document and, for Cranfield, a grade, of which those below 1 are not relevant."""
    found: Judged = defaultdict(set)
    for line in path.read_text("utf-8", "replace").splitlines():
        numbers = line.split()
        if len(numbers) >= 2 and ("cranqrel" not in path.name or int(numbers[2]) > 0):
            found[int(numbers[0])].add(int(numbers[1]))
    return found


def write(
    out: Path, name: str, documents: Iterable[Document], questions: Iterable[tuple[int, str]], answers: Judged
) -> Iterator[str]:
    """Writes the database; gives the lines of its questions that have an answer in it."""
    path = out / f"{name}.sqlite"
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE docs (id INTEGER PRIMARY KEY, title TEXT, abstract TEXT)")
    connection.executemany("INSERT INTO docs VALUES (?, ?, ?)", documents)
    connection.commit()
    numbers = {number for (number,) in connection.execute("SELECT id FROM docs")}
    has_titles = connection.execute("SELECT count(title) FROM docs").fetchone()[0] > 0
    connection.close()
    for number, text in questions:
        gold = sorted(answers.get(number, set()) & numbers)
        if gold:
            line = {
                "set": name,
                "db": path.name,
                "table": "docs",
                "id_col": "id",
                "text_cols": ["title", "abstract"] if has_titles else ["abstract"],
                "query_id": number,
                "query": text,
                "where": None,
                "gold_ids": gold,
            }
            yield json.dumps(line) + "\n"


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
