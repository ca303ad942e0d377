import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sqlrag_dspy.program.answer import Evidence, check_citations, quote, render_rows
from sqlrag_dspy.program.result import Citation
from sqlrag_dspy.types import Document, Passage, Rows

TEXT = 'The well ran dry. "We dug deeper," she said. It took 3.5 days!\n\nThen it rained.'


def bag(texts):
    words = sorted({w for t in texts for w in t.lower().split()})
    raw = np.array([[t.lower().split().count(w) for w in words] for t in texts], dtype=np.float32)
    return raw / np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1e-9)


def test_quotes_are_verbatim_and_cited_by_offset():
    stored = "x" * 50 + TEXT
    passage = Passage("body", 50, 50 + len(TEXT), TEXT, 0.9)
    document = Document("wells", 7, 0.9, {"name": "Well seven"}, (passage,))
    written = quote("why did the well ran dry", [document], {}, lambda d: "Well seven", bag, most_sentences=1)
    assert written.citations
    for citation in written.citations:
        said = written.text[slice(*citation.answer_span)]
        assert said == stored[citation.start : citation.end]


def test_sentences_of_several_documents_are_encoded_together_and_cited_each_in_its_own():
    asked = []

    def encode(texts):
        asked.append(texts)
        return bag(texts)

    texts = {7: TEXT, 8: "Nothing was said of rain that year. The well stayed full all the same."}
    documents = [
        Document("wells", key, 0.9, {}, (Passage("body", 0, len(text), text, 0.9),))
        for key, text in texts.items()
    ]
    written = quote("did the well run dry", documents, {}, lambda d: f"Well {d.key}", encode)
    assert len(asked) == 1
    assert {citation.key for citation in written.citations} == {7, 8}
    for citation in written.citations:
        said = written.text[slice(*citation.answer_span)]
        assert said == texts[citation.key][citation.start : citation.end]


def test_one_value_is_the_answer_and_many_rows_are_counted():
    assert render_rows(Rows(("n",), ((144,),)), "").text == "144"
    many = render_rows(Rows(("n",), tuple((n,) for n in range(25))), "").text
    assert many.endswith("… and 5 more rows.")
    assert render_rows(Rows(("n",), ()), "").text == "No rows match."


def test_marks_become_citations_and_uncited_sentences_are_reported():
    evidence = [
        Evidence("a", Citation(kind="row", answer_span=(0, 0), key=0)),
        Evidence(
            "b", Citation(kind="passage", answer_span=(0, 0), table="t", key=1, column="c", start=0, end=5)
        ),
    ]
    written = check_citations("Sales rose [1]. The shop moved [2, 9]. Everyone was happy.", evidence)
    assert written.text == "Sales rose. The shop moved. Everyone was happy."
    assert [written.text[slice(*c.answer_span)].rstrip(".") for c in written.citations] == [
        "Sales rose",
        "The shop moved",
    ]
    assert written.unsupported == ["Everyone was happy."]


def numbered(count):
    return [Evidence(str(n), Citation(kind="row", answer_span=(0, 0), key=n)) for n in range(1, count + 1)]


def cited(text, count=3):
    written = check_citations(text, numbered(count))
    return [(written.text[slice(*c.answer_span)], c.key) for c in written.citations], written


def test_marks_after_the_full_stop_and_inside_a_sentence_cite_that_sentence():
    assert cited("The well ran dry. [1] It rained [2] and rained [3].")[0] == [
        ("The well ran dry.", 1), ("It rained", 2), ("It rained and rained", 3),
    ]  # fmt: skip


def test_spans_hold_whatever_white_space_surrounds_the_text():
    assert cited("\n\n  The well ran dry [1].\n")[0] == [("The well ran dry", 1)]


def test_a_mark_before_any_sentence_or_without_evidence_supports_nothing():
    found, written = cited("[1] The well ran dry. Then it rained [0] [4] [99999999999999999999999].")
    assert found == []
    assert written.text == "The well ran dry. Then it rained."
    assert written.unsupported == ["The well ran dry.", "Then it rained."]


@given(st.text(alphabet="ab .!\n[]123,", max_size=80))
def test_citations_of_any_text_lie_within_it(text):
    found, written = cited(text)
    assert all(said.strip() == said != "" for said, _ in found)
    assert all(sentence in written.text for sentence in written.unsupported)
