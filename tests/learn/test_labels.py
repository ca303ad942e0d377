"""Reading labelled queries, and what is said of a line that is none."""

from __future__ import annotations

import json

import dspy
import pytest

from sqlrag_dspy import Label, learn
from sqlrag_dspy.errors import LabelError

GOOD = {
    "id": "a-1",
    "database": "d",
    "question": "how many?",
    "lang": "en",
    "route": "sql",
    "sql": "SELECT 1",
}


def line(**changes) -> str:
    return json.dumps({**GOOD, **changes}, ensure_ascii=False)


def test_labels_become_examples_whose_inputs_are_question_and_database(small):
    examples = learn.labels.load(small.trainset, split="train")
    assert len(examples) == 70
    first = examples[0]
    assert isinstance(first, dspy.Example)
    assert first.inputs().toDict() == {
        "question": "how many business articles are there",
        "database": "articles",
    }
    assert first.labels().route == "sql"
    assert isinstance(first.gold, Label)
    assert first.gold.sql == first.sql


def test_a_folder_gives_all_its_splits_and_a_file_itself(small):
    train, dev = (len(learn.labels.load(small.trainset / f"{name}.jsonl")) for name in ("train", "dev"))
    assert len(learn.labels.load(str(small.trainset))) == train + dev
    assert len(learn.labels.load(small.trainset.parent, split="dev")) == dev


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 2: line: Invalid JSON"),
        ("[1]", "line 2: line: Input should be an object"),
        ("null", "line 2: line: Input should be an object"),
        (line(question=""), "line 2: question: String should have at least 1 character"),
        (line(question=" \t"), "line 2: line: Value error, the question is blank"),
        (line(lang="fr"), "line 2: lang: Input should be 'en', 'es' or 'nl'"),
        (line(route="maybe"), "line 2: route: Input should be 'sql', 'vector', 'hybrid' or 'decline'"),
        (line(also_ok=["x"]), "line 2: also_ok.0: Input should be"),
        (line(sql=None), "line 2: line: Value error, an sql label needs its gold query under 'sql'"),
        (
            line(route="hybrid"),
            "line 2: line: Value error, a hybrid label needs the searched table under 'table'",
        ),
        (line(querry="x"), "line 2: querry: Extra inputs are not permitted"),
        (line(answer={"facts": []}), "line 2: answer.Facts.facts: List should have at least 1 item"),
        (line(answer={"facts": ["a"], "nver": ["b"]}), "line 2: answer.Facts.nver: Extra inputs"),
        ('{"id": "a-1"}', "line 2: database: Field required"),
        (line(), "line 2: id 'a-1' is already used in line 1"),
    ],
)
def test_a_wrong_line_is_named_with_its_number_and_field(tmp_path, text, said):
    path = tmp_path / "labels.jsonl"
    path.write_text(f"{line()}\n{text}\n", encoding="utf-8")
    with pytest.raises(LabelError) as caught:
        learn.labels.load(path)
    assert str(caught.value).startswith(f"{path}, {said}")
    assert "\n" not in str(caught.value)


def test_blank_lines_count_and_every_other_line_ending_is_text(tmp_path):
    path = tmp_path / "labels.jsonl"
    question = "one line\u2028of two\u0085or\u000bthree\x0c?"
    text = f"\ufeff{line()}\r\n\r\n  \n{line(id='a-2', question=question)}\n"
    path.write_text(text, encoding="utf-8")
    first, second = learn.labels.load(path)
    assert (first.id, second.question) == ("a-1", question)
    path.write_text(text + "{\n", encoding="utf-8")
    with pytest.raises(LabelError, match="line 5:"):
        learn.labels.load(path)


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    path = tmp_path / "labels.jsonl"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(LabelError, match=r"labels\.jsonl"):
        learn.labels.read(path)


def test_a_path_without_labels_is_named(tmp_path):
    with pytest.raises(LabelError, match="no label file or folder"):
        learn.labels.load(tmp_path / "none")
    with pytest.raises(LabelError, match=r"holds no train\.jsonl or dev\.jsonl or test\.jsonl"):
        learn.labels.load(tmp_path)
    with pytest.raises(LabelError, match=r"holds no dev\.jsonl"):
        learn.labels.load(tmp_path, split="dev")
