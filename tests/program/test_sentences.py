from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrag_dspy.program.sentences import sentences

TEXT = 'The well ran dry. "We dug deeper," she said. It took 3.5 days!\n\nThen it rained.'


def test_sentences_cover_the_text_and_keep_numbers_whole():
    assert [TEXT[s:e] for s, e in sentences(TEXT)] == [
        "The well ran dry.", '"We dug deeper," she said.', "It took 3.5 days!", "Then it rained.",
    ]  # fmt: skip


@given(st.text(max_size=300))
def test_sentence_spans_are_in_order_and_never_blank(text):
    spans = sentences(text)
    assert all(text[s:e].strip() == text[s:e] != "" for s, e in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


@pytest.mark.parametrize(
    "text",
    [
        "In an order Judge Dooley of the U.S. District Court found so.",
        "It was written by J. R. Smith and Dr. Jones for St. Mary's.",
        "See fig. 3 and vol. 12 of Acme Inc. Quarterly.",
        "Work began at 6 a.m. Tuesday in Washington D.C. Circuit rooms.",
        "Doors, windows, etc. Smith painted.",
        "La Sra. López y el Dr. Gil viven en EE. UU. García no.",
        "Véase el art. 5 y la pág. 30 de Hnos. Ruiz.",
        "Dhr. De Vries en mevr. Jansen wonen op nr. 12 bij Bakker B.V. Utrecht.",
        "Vertraging, bijv. Zondag, is gewoon.",
        "The game ended Jan. 5 in overtime.",
    ],
)
def test_an_abbreviation_ends_no_sentence(text):
    assert [text[s:e] for s, e in sentences(text)] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "She moved to the U.S.| He stayed.",
        "It opens at 6 a.m.| The bar is shut.",
        "The firm is Acme Inc.| It sells anvils.",
        "Take vitamin C.| In winter it helps.",
        "Is it new?| No.| Nobody bought it.",
        "They won in World War II.| Germany lost.",
        "Van alles, enz.| De rest volgt.",
        "Había sillas, mesas, etc.| Los demás se fueron.",
        "He lives in Washington, D.C.|\nSmith does not.",
        '"I left the U.S."| Smith did not.',
    ],
)
def test_one_that_another_sentence_follows_ends_its_own(text):
    plain = text.replace("|", "")
    assert [plain[s:e] for s, e in sentences(plain)] == [part.strip() for part in text.split("|")]
