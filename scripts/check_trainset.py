"""Checks labelled sets over their databases, prints what is wrong, and says how the labels are spread.

    python scripts/check_trainset.py trainsets/grants
    python scripts/check_trainset.py trainsets/*/

Exits 1 when a label is wrong. The shares printed are of all the labels of a folder.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from sqlrag_dspy.errors import SqlRagError
from sqlrag_dspy.learn import checks, labels
from sqlrag_dspy.learn.databases import check_databases, open_trainset
from sqlrag_dspy.settings import Settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    wrong = 0
    for folder in parser.parse_args().folders:
        found = [label for file in labels.files(folder) for label in labels.read(file)]
        if not found:
            print(f"{folder}: no labels yet")
            continue
        database = open_trainset(folder, Settings(), is_searched=False)
        check_databases(found, {folder.resolve().name: database})
        said = list(checks.problems(found, database))
        wrong += len(said)
        print(f"{folder}: {len(found)} labels, {len(said)} problems")
        for line in said:
            print(f"  {line}")
        for part in checks.prose(database):
            print(
                f"  prose {part.table}.{part.column}: {part.rows} rows of {part.shortest} to {part.longest} words, "
                f"a run of {checks.RUN} words in at most {part.shared}"
            )
        for what in ("route", "lang"):
            shares = Counter(getattr(label, what) for label in found).most_common()
            print("  " + ", ".join(f"{name} {count} ({count / len(found):.0%})" for name, count in shares))
        tags = Counter(tag for label in found for tag in label.tags).most_common()
        print("  tags " + ", ".join(f"{tag} {count}" for tag, count in tags))
        forms = checks.repeated_forms(found, database)
        most = len(next(iter(forms.values())))
        stated = sum(label.facts is not None for label in found)
        print(f"  {len(forms)} masked forms, the most repeated {most} times; {stated} labels with facts")
        database.close()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    try:
        main()
    except SqlRagError as error:
        sys.exit(str(error))
