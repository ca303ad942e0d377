"""How much of a test split a program could know by heart: overlap of masked 3-grams between test and train.

    python scripts/measure_overlap.py trainsets/articles

Values, names, dates and numbers are masked by their gold spans as far as the linker finds them, so that what
is compared is the phrasing. Prints the share of test 3-grams seen in train, and identical masked questions.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from sqlrag_dspy.learn import labels
from sqlrag_dspy.learn.databases import open_trainset
from sqlrag_dspy.link import mask
from sqlrag_dspy.program.features import tokens
from sqlrag_dspy.settings import Settings


def grams(masked: str, size: int = 3) -> list[tuple[str, ...]]:
    words = ["^", *tokens(masked), "$"]
    return [tuple(words[start : start + size]) for start in range(len(words) - size + 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    database = open_trainset(folder, Settings(), is_searched=False)
    masked = {
        split: [mask(database.link(label.question)) for label in labels.read(folder / f"{split}.jsonl")]
        for split in ("train", "test")
    }
    database.close()
    seen = Counter(gram for text in masked["train"] for gram in set(grams(text)))
    asked = [gram for text in masked["test"] for gram in grams(text)]
    whole = set(masked["train"])
    repeats = Counter(text for split in masked.values() for text in split)
    print(
        json.dumps(
            {
                "train": len(masked["train"]),
                "test": len(masked["test"]),
                "test_3grams_seen_in_train": round(sum(gram in seen for gram in asked) / len(asked), 4),
                "test_questions_identical_when_masked": sum(text in whole for text in masked["test"]),
                "most_repeated_masked_form": repeats.most_common(1)[0][1],
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
