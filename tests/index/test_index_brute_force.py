from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from index_fakes import ToyEmbedder, note, notes, notes_table

from sqlrag_dspy.index import open_index, store, sync
from sqlrag_dspy.index.fuse import Evidence, Scores
from sqlrag_dspy.index.syncing.chunk import split

WORDS = st.sampled_from(["red", "blue", "kite", "train", "bread", "moon", "river", "seven"])
BODIES = st.one_of(
    st.lists(WORDS, max_size=6).map(" ".join),
    st.lists(WORDS, min_size=2, max_size=5).map(lambda words: " ".join(words * 90)),  # several chunks
    st.sampled_from(["", " ", "red kite"]),  # none, and the same text again
)
KINDS = st.sampled_from(["a", "b"])


def only_meaning(cosines: Scores, bm25: Scores, evidence: Evidence) -> Scores:
    return cosines


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(BODIES, KINDS), max_size=25),
    question=st.lists(WORDS, min_size=1, max_size=4).map(" ".join),
    k=st.integers(1, 30),
    kind=st.none() | KINDS,
    data=st.data(),
)
def test_rows_and_order_equal_brute_force(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    question: str,
    k: int,
    kind: str | None,
    data: st.DataObject,
) -> None:
    reader = notes(*(note(id_, body, kind=kind_) for id_, (body, kind_) in enumerate(rows)))
    embedders = {"toy": ToyEmbedder(24), "other": ToyEmbedder(16)}
    folder = tmp_path_factory.mktemp("store")
    sync(folder, reader, [notes_table()], list(embedders), embed_functions=embedders)
    index = open_index(folder, [notes_table()], list(embedders), embed_functions=embedders)
    new = [len(rows), len(rows) + 1]
    reader.tables["notes"] += [note(id_, "red kite", kind="a") for id_ in new]
    allowed = data.draw(st.none() | st.sets(st.sampled_from([*range(len(rows)), *new])))
    hits = index.search(
        question,
        "notes",
        k=k,
        allowed=allowed,
        filters={"kind": kind} if kind else None,
        fusion=only_meaning,
        reader=reader,
    )
    index.close()

    def unit(text: str) -> list[np.ndarray]:
        vectors = [embedder([text])[0] for embedder in embedders.values()]
        return [vector / (np.linalg.norm(vector) or 1) for vector in vectors]

    asked = unit(question)
    best: dict[int, float] = {}
    silent = []
    for id_, (body, kind_) in enumerate(rows):
        if (allowed is None or id_ in allowed) and kind in (None, kind_):
            cosines = [
                np.mean([float(a @ b) for a, b in zip(asked, unit(body[start:end]))])
                for start, end in split(body)
            ]
            if cosines:
                best[id_] = max(cosines)
            else:
                silent.append(id_)
    spelt = {id_: store.key_json(id_) for id_ in (*range(len(rows)), *new)}
    loud = sorted(best, key=lambda id_: (-best[id_], spelt[id_]))
    unseen = sorted(set(allowed or ()) & set(new)) if kind is None else []
    found = [document.key for document in hits.documents]
    total = len(loud) + len(silent) + len(unseen)
    assert len(found) == min(k, total)
    assert hits.search.exact
    assert hits.search.rows_allowed == hits.search.rows_searched == total
    heard = found[: len(loud)]
    assert np.allclose([best[key] for key in heard], [best[key] for key in loud[:k]], atol=2e-5)  # type: ignore[index]
    for first, second in pairwise(heard):
        if rows[first][0] == rows[second][0]:  # type: ignore[index]
            assert spelt[first] < spelt[second]  # type: ignore[index]
    quiet = found[len(loud) :]
    assert quiet[: len(silent)] == sorted(silent, key=spelt.__getitem__)[: len(quiet)]
    assert set(quiet[len(silent) :]) <= set(unseen)
