from __future__ import annotations

import copy
import random
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from index_fakes import TOY, MemoryRows, ToyEmbedder, column, note, notes, notes_table

from sqlrag_dspy.errors import IndexUnusable, SqlRagError
from sqlrag_dspy.index import Index, open_index, sync
from sqlrag_dspy.index.fuse import Evidence, Scores
from sqlrag_dspy.types import Hits, Key, Table

WORDS = st.lists(
    st.sampled_from(["red", "blue", "kite", "train", "bread", "moon", "river", "seven"]), max_size=12
).map(" ".join)


def build(
    store: Path, reader: MemoryRows, table: Table | None = None, embedder: ToyEmbedder | None = None
) -> Index:
    functions = {"toy": embedder or ToyEmbedder()}
    tables = [table or notes_table()]
    sync(store, reader, tables, TOY, embed_functions=functions)
    return open_index(store, tables, TOY, embed_functions=functions)


def keys(hits: Hits) -> list[Key]:
    return [document.key for document in hits.documents]


def only_meaning(cosines: Scores, bm25: Scores, evidence: Evidence) -> Scores:
    return cosines


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies=st.lists(WORDS, min_size=1, max_size=30), data=st.data(), question=WORDS.filter(bool))
def test_filtered_search_equals_brute_force(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[str], data: st.DataObject, question: str
) -> None:
    allowed = data.draw(st.sets(st.sampled_from(range(len(bodies)))))
    embedder = ToyEmbedder()
    reader = notes(*(note(id_, body) for id_, body in enumerate(bodies)))
    index = build(tmp_path_factory.mktemp("store"), reader, embedder=embedder)
    k = data.draw(st.integers(1, 12))
    hits = index.search(question, "notes", k=k, allowed=allowed, fusion=only_meaning, reader=reader)

    def unit(text: str) -> np.ndarray:
        vector = embedder([text])[0]
        return vector / (np.linalg.norm(vector) or 1)

    texts = {id_: float(unit(bodies[id_].strip()) @ unit(question)) for id_ in allowed if bodies[id_].strip()}
    best = sorted(texts.values(), reverse=True)[:k]
    found = keys(hits)
    assert len(found) == len(set(found)) == min(k, len(allowed))
    assert set(found) <= allowed
    assert np.allclose([texts[key] for key in found if key in texts], best, atol=1e-4)
    assert hits.search.rows_allowed == hits.search.rows_searched == len(allowed)
    assert hits.search.exact
    index.close()


def test_the_filter_comes_before_the_ranking(tmp_path: Path) -> None:
    rows = [note(n, "renewal terms for the annual support contract", kind="sales") for n in range(397)]
    rows += [note(n, f"statute {n} on fences", kind="legal") for n in range(398, 401)]
    reader = notes(*rows)
    index = build(tmp_path, reader)
    question = "renewal terms for the annual support contract"
    assert set(keys(index.search(question, "notes", k=3, filters={"kind": "legal"}, reader=reader))) == {
        398,
        399,
        400,
    }
    assert set(keys(index.search(question, "notes", k=9, allowed=[399, 400], reader=reader))) == {399, 400}
    both = index.search(question, "notes", allowed=[5, 399], filters={"KIND": "Legal"}, reader=reader)
    assert keys(both) == [399]
    assert both.search.filters == (("KIND", "Legal"),)


@pytest.mark.parametrize("body", [None, "", "  \n"])
def test_a_selection_is_never_empty(tmp_path: Path, body: str | None) -> None:
    reader = notes(note(1, body), note(2, "a kite"), note(3, "bread"))
    index = build(tmp_path, reader)
    assert keys(index.search("kite", "notes", allowed=[1], reader=reader)) == [1]
    assert keys(index.search("kite", "notes", k=3, reader=reader))[0] == 2
    assert set(keys(index.search("kite", "notes", k=3, reader=reader))) == {1, 2, 3}
    assert keys(index.search("", "notes", k=3, reader=reader)) == [1, 2, 3]
    assert keys(index.search("???", "notes", k=1, allowed=[3], reader=reader)) == [3]
    assert keys(index.search("kite", "notes", allowed=[], reader=reader)) == []


@pytest.mark.parametrize("k", [2**31, 2**63, 10**20])
def test_more_rows_than_there_are_may_be_asked_for(tmp_path, k):
    reader = notes(*(note(number, f"kite {number}") for number in range(3)))
    index = build(tmp_path, reader)
    assert sorted(keys(index.search("kite", "notes", k=k, reader=reader))) == [0, 1, 2]


def test_filters_by_type(tmp_path: Path) -> None:
    reader = notes(
        note(1, "battery life", kind="718", stars=2, good=0),
        note(2, "battery life", kind="Genève", stars=3, good=1),
        note(3, "battery life", kind=None, stars=2.25, good=1),
    )
    index = build(tmp_path, reader)

    def found(**filters: object) -> set[Key]:
        return set(keys(index.search("battery life", "notes", filters=filters, reader=reader)))  # type: ignore[arg-type]

    assert found(stars=2.5) == set()
    assert found(stars="2.25") == {3}
    assert found(stars="3") == {2}
    assert found(stars=[2, 3]) == {1, 2}
    assert found(good=True) == {2, 3}
    assert found(good="false") == {1}
    assert found(kind=718) == {1}
    assert found(kind="GENE\u0300VE") == {2}
    assert found(kind=None) == {3}
    assert found(kind="gen") == set()
    assert found(kind="Genève", stars=2) == set()
    with pytest.raises(SqlRagError, match=r"notes\.stars is a number, 'abc' is not"):
        found(stars="abc")
    with pytest.raises(SqlRagError, match="true or false"):
        found(good="abc")
    with pytest.raises(
        IndexUnusable, match=r"column 'title'.*not mirrored.*kind, stars, good.*run 'sqlrag index'"
    ):
        found(title="x")


def test_a_row_counts_once_with_exact_passages(tmp_path: Path) -> None:
    long = (
        "  Intro.\x00\n"
        + " ".join(f"Line {n} tells of solar panels on the roof." for n in range(300))
        + "\ttail é"
    )
    reader = notes(note(1, long), *(note(n, "solar panels on the roof") for n in range(2, 6)))
    index = build(tmp_path, reader)
    hits = index.search("solar panels on the roof", "notes", k=4, reader=reader)
    assert len(set(keys(hits))) == 4
    document = index.search("solar panels on the roof", "notes", allowed=[1], reader=reader).documents[0]
    assert 1 <= len(document.passages) <= 3
    for passage in document.passages:
        assert passage.text == long[passage.start : passage.end]
        assert passage.column == "body"
    assert document.fields == {"id": 1, "kind": "a", "stars": 1, "good": 1}
    spans = sorted((p.start, p.end) for p in document.passages)
    assert all(first[1] < second[0] for first, second in pairwise(spans))


def test_the_end_of_a_long_text_is_found(tmp_path: Path) -> None:
    filler = " ".join(f"Step {n}: check the valve and write down the pressure." for n in range(900))
    manual = f"{filler} The spare key for locker 417 hangs behind the compressor."
    reader = notes(note(1, manual), note(2, "locker room rules"))
    index = build(tmp_path, reader)
    first = index.search("Where is the spare key for locker 417?", "notes", k=2, reader=reader).documents[0]
    assert first.key == 1
    assert "behind the compressor" in first.passages[0].text


def test_a_row_that_has_gone_makes_place_for_the_next(tmp_path: Path) -> None:
    reader = notes(*(note(n, "red kite") for n in range(30)))
    index = build(tmp_path, reader)
    del reader.tables["notes"][:25]
    assert set(keys(index.search("red kite", "notes", k=10, reader=reader))) == set(range(25, 30))


def test_a_row_that_the_index_has_not_seen_is_shown_when_sql_chose_it(tmp_path: Path) -> None:
    reader = notes(note(1, "red kite"))
    index = build(tmp_path, reader)
    reader.tables["notes"].append(note(2, "blue kite"))
    assert keys(index.search("kite", "notes", allowed=[1, 2], reader=reader)) == [1, 2]


def test_keys_of_every_kind(tmp_path: Path) -> None:
    table = Table(
        "logs", ("day", "n"), (column("day"), column("n", "integer"), column("text", length=900)), ("text",)
    )
    reader = MemoryRows(
        {"logs": [{"day": "x'y", "n": 1, "text": "red kite"}, {"day": None, "n": 2, "text": "bread"}]},
        {"logs": ("day", "n")},
    )
    index = build(tmp_path, reader, table)
    assert keys(index.search("kite", "logs", allowed=[("x'y", 1), (None, 2)], reader=reader)) == [
        ("x'y", 1),
        (None, 2),
    ]
    assert keys(index.search("kite", "logs", allowed=[["x'y", 1]], reader=reader)) == [("x'y", 1)]  # type: ignore[list-item]


NAMES = [
    note(1, "The budget was defended by Anthony Dooley before the council."),
    note(2, "Häagen-Dazs opened a shop near the station."),
    note(3, "O orçamento foi aprovado; a semana passou."),
    note(4, "Ana wrote the letter herself."),
    note(5, "Part XK-4417-B was recalled in spring."),
    note(6, "東京都の予算について話した。"),
    note(7, "The nightshift crew slept at noon.", title="Night work"),
    note(8, "Nothing of note happened in the village."),
]


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("Doo ley", 1),
        ("what did dooly say", 1),
        ("Häagen Das", 2),
        ("haagen dazs", 2),
        ("orcamento", 3),
        ("orc\u0327amento", 3),
        ("Ana", 4),
        ("XK-4417-B", 5),
        ("4417", 5),
        ("予算", 6),
        ("night shift", 7),
        ('vill"age OR * NEAR( ^', 8),
        ("½ ² \x00 village ﷽", 8),
    ],
)
def test_names_codes_and_misspellings_are_found_by_their_words(
    tmp_path_factory: pytest.TempPathFactory, question: str, key: int
) -> None:
    reader = notes(*NAMES)
    index = build(tmp_path_factory.mktemp("names"), reader)

    def only_words(cosines: Scores, bm25: Scores, evidence: Evidence) -> Scores:
        return bm25

    hits = index.search(question, "notes", k=1, fusion=only_words, reader=reader)
    assert keys(hits) == [key]
    assert hits.documents[0].score > 0


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("Dooly", 1),
        ("Doo ley", 1),
        ("Doolye", 1),
        ("Häagen Das", 2),
        ("Hagen Daaz", 2),
        ("Bradick", 3),
        ("Brad dick", 3),
    ],
)
def test_a_misspelt_name_is_compared_with_the_words_of_the_allowed_rows(
    tmp_path_factory: pytest.TempPathFactory, question: str, key: int
) -> None:
    named = [
        note(1, "The budget was defended by Anthony Dooley before the council."),
        note(2, "Häagen-Dazs opened a shop near the station."),
        note(3, "A letter to the editor about the harbour.", title="Ottoline Braddick"),
        *(note(n, f"The council spoke of matter {n} before the station opened.") for n in range(4, 40)),
        # Nearer to what was typed than the right names are, but not allowed.
        *(
            note(n, f"{word} was here")
            for n, word in enumerate(("Doily", "Dole", "Haag", "Hagen", "Bradock"), 40)
        ),
    ]
    index = build(tmp_path_factory.mktemp("names"), notes(*named))

    def only_words(cosines: Scores, bm25: Scores, evidence: Evidence) -> Scores:
        return bm25

    hits = index.search(question, "notes", k=1, allowed=range(40), fusion=only_words, reader=notes(*named))
    assert keys(hits) == [key]
    assert hits.documents[0].score > 0


def test_words_that_other_rows_have_are_guessed_only_when_rare_and_near(tmp_path: Path) -> None:
    rows = [note(n, "market prices rose") for n in range(10)]
    rows += [note(10, "a marker on the map"), note(11, "Dooly wrote"), note(12, "Dooley wrote")]
    index = build(tmp_path, reader := notes(*rows))

    def only_words(cosines: Scores, bm25: Scores, evidence: Evidence) -> Scores:
        return bm25

    def best(question: str, allowed: list[int]) -> float:
        hits = index.search(question, "notes", k=1, allowed=allowed, fusion=only_words, reader=reader)
        return hits.documents[0].score

    assert best("market", [10, 12]) == 0, "a common word is meant as written"
    assert best("dooly", [12]) == 0, "so is a rare one, when the other spelling is two letters of five off"
    assert best("dooleys", [12]) > 0


def test_filter_values_and_titles_count(tmp_path: Path) -> None:
    reader = notes(
        note(1, "It rained all day.", kind="Ottoline Braddick"),
        note(2, "It rained.", title="Harbour festival"),
        note(3, "It rained"),
    )
    index = build(tmp_path, reader)
    assert keys(index.search("by braddick", "notes", k=1, reader=reader)) == [1]
    assert keys(index.search("harbour festival", "notes", k=1, reader=reader)) == [2]


def test_a_very_long_question(tmp_path: Path) -> None:
    reader = notes(*NAMES)
    index = build(tmp_path, reader)
    question = " ".join(f"word{n}" for n in range(3000)) + " Dooley"
    assert len(keys(index.search(question, "notes", k=3, reader=reader))) == 3


def test_focus_is_what_is_searched_for(tmp_path: Path) -> None:
    reader = notes(note(1, "red kite"), note(2, "politics and more politics"))
    index = build(tmp_path, reader)
    hits = index.search("kite articles in politics", "notes", k=1, focus="kite", reader=reader)
    assert keys(hits) == [1]


def test_a_vector_of_the_question_that_is_known_is_not_worked_out_again(tmp_path: Path) -> None:
    embedder = ToyEmbedder()
    reader = notes(note(1, "red kite"), note(2, "politics and more politics"))
    index = build(tmp_path, reader, embedder=embedder)
    found = index.search("politics now", "notes", k=2, reader=reader)
    asked = len(embedder.texts)
    known = {"toy": index._encoders[0](["politics now"])[0]}
    assert index.search("politics now", "notes", k=2, known=known, reader=reader) == found
    assert len(embedder.texts) == asked + 1


def test_an_open_index_keeps_its_generation(tmp_path: Path) -> None:
    embedder = ToyEmbedder()
    reader = notes(note(1, "red kite"), note(2, "bread"))
    old = build(tmp_path, reader, embedder=embedder)
    before = notes(*map(dict, reader.tables["notes"]))
    reader.tables["notes"][:] = [note(2, "moon"), note(3, "red kite over a river")]
    new = build(tmp_path, reader, embedder=embedder)
    assert keys(old.search("red kite", "notes", k=1, reader=before)) == [1]
    assert old.search("red kite", "notes", reader=before).search.rows_allowed == 2
    assert keys(new.search("red kite", "notes", k=1, reader=reader)) == [3]
    assert (old.generation, new.generation) == (1, 2)


def test_threads_share_an_index(tmp_path: Path) -> None:
    reader = notes(*(note(n, f"item{n} red kite") for n in range(50)))
    index = build(tmp_path, reader)
    wrong: list[object] = []

    def ask(n: int) -> None:
        for at in range(n, n + 10):
            found = keys(index.search(f"item{at}", "notes", k=1, allowed=range(50), reader=reader))
            if found != [at]:
                wrong.append((at, found))

    threads = [threading.Thread(target=ask, args=(n,)) for n in (0, 10, 20, 30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_copy_of_an_index_is_itself(tmp_path: Path) -> None:
    index = build(tmp_path, notes(note(1, "kite")))
    assert copy.deepcopy({"index": index})["index"] is index


# --- an index that cannot be used ---


def opened(store: Path, table: Table | None = None, embedder: str = "toy") -> Index:
    return open_index(store, [table or notes_table()], [embedder], embed_functions={embedder: ToyEmbedder()})


def test_no_index(tmp_path: Path) -> None:
    with pytest.raises(IndexUnusable, match=r"no index in .*nowhere; build it with 'sqlrag index'"):
        opened(tmp_path / "nowhere")


def test_an_index_of_another_embedder_or_schema(tmp_path: Path) -> None:
    build(tmp_path, notes(note(1, "kite"))).close()
    with pytest.raises(IndexUnusable, match="built with toy, not with other; run 'sqlrag index'"):
        opened(tmp_path, embedder="other")
    with pytest.raises(IndexUnusable, match="another key, text or filter column; run 'sqlrag index'"):
        opened(tmp_path, notes_table(filters=["kind"]))
    table = Table("letters", ("id",), notes_table().columns, ("body",))
    with pytest.raises(IndexUnusable, match="table letters is not in the index"):
        opened(tmp_path, table)
    index = opened(tmp_path)
    with pytest.raises(IndexUnusable, match="table letters is not in the index"):
        index.search("x", "letters", reader=notes())


def test_a_newer_format(tmp_path: Path) -> None:
    import sqlite3

    build(tmp_path, notes(note(1, "kite"))).close()
    connection = sqlite3.connect(tmp_path / "index.sqlite")
    connection.execute("UPDATE meta SET value = '99' WHERE name = 'format'")
    connection.commit()
    connection.close()
    with pytest.raises(IndexUnusable, match="format 99, this version reads 1; upgrade"):
        opened(tmp_path)


@pytest.mark.parametrize("share", [0, 0.5, 0.9])
@pytest.mark.parametrize("pattern", ["*.faiss", "*.sqlite"])
def test_a_file_that_is_cut_short(tmp_path: Path, pattern: str, share: float) -> None:
    reader = notes(*(note(n, f"kite {n}") for n in range(200)))
    build(tmp_path, reader).close()
    path = next(tmp_path.glob(pattern))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(IndexUnusable, match="run 'sqlrag index") as error:
        opened(tmp_path).search("kite", "notes", reader=reader)
    assert "\n" not in str(error.value)
    functions = {"toy": ToyEmbedder()}
    sync(tmp_path, reader, [notes_table()], TOY, rebuild=True, embed_functions=functions)
    assert len(keys(opened(tmp_path).search("kite", "notes", reader=reader))) == 10


@pytest.mark.parametrize("kept", [1.0, 0.5])
@pytest.mark.parametrize("rows", [20, 600])
def test_vectors_that_are_damaged_at_their_length(tmp_path: Path, rows: int, kept: float) -> None:
    reader = notes(*(note(n, f"kite {n}") for n in range(rows)))
    build(tmp_path, reader).close()
    path = next(tmp_path.glob("*.faiss"))
    content = path.read_bytes()
    size = int(kept * (len(content) - 100))
    path.write_bytes(content[:-size] + b"\xff" * size)
    index = opened(tmp_path)
    with pytest.raises(
        IndexUnusable, match="notes: a file of its vectors is damaged; run 'sqlrag index --rebuild'"
    ):
        index.search("kite", "notes", reader=reader)
    with pytest.raises(IndexUnusable, match="is damaged"):
        index.nearness("kite")
    index.close()


def test_a_missing_vector_file(tmp_path: Path) -> None:
    build(tmp_path, notes(note(1, "kite"))).close()
    next(tmp_path.glob("*.faiss")).unlink()
    with pytest.raises(IndexUnusable, match=r"missing or cut short.*--rebuild"):
        opened(tmp_path)


def test_an_empty_table(tmp_path: Path) -> None:
    reader = notes()
    index = build(tmp_path, reader)
    hits = index.search("kite", "notes", reader=reader)
    assert hits.documents == ()
    assert hits.search.rows_allowed == 0
    reader.tables["notes"].append(note(1, "kite"))
    assert keys(build(tmp_path, reader).search("kite", "notes", reader=reader)) == [1]


def test_spoilt_names_are_found_in_selections(tmp_path: Path) -> None:
    """A small version of scripts/measure_misspelt.py."""
    chance = random.Random(3)
    parts = ["bra", "den", "kol", "mir", "sto", "ver", "lin", "gaf", "ter", "wol", "pes", "hun"]
    names: list[str] = []
    while len(names) < 400:
        first, last = ("".join(chance.sample(parts, 2 + n)).title() for n in range(2))
        names.append(f"{first} {last}")
    reader = notes(*(note(n, f"A note by {name} of the bureau.") for n, name in enumerate(names)))
    index = build(tmp_path, reader)
    found = 0
    for number in range(0, 400, 4):
        first, last = names[number].split()
        at = chance.randrange(2, len(last) - 2)
        spoilt = chance.choice(
            [
                f"{last[:at]} {last[at:]}",
                last[:at] + last[at + 1] + last[at] + last[at + 2 :],
                last[:at] + "x" + last[at + 1 :],
                last[:at] + last[at + 1 :] + "q",
            ]
        )
        allowed = {number, *chance.sample(range(400), 99)}
        found += number in keys(
            index.search(f"{first} {spoilt}", "notes", k=3, allowed=allowed, reader=reader)
        )
    assert found >= 95
