"""What is asked of the shop, and what a model may say at each stage."""

from __future__ import annotations

import json

QUESTION = "how many customers are there in Leiden"
RIGHT = "SELECT COUNT(*) FROM customers WHERE city = 'Leiden'"
OTHER = "SELECT COUNT(*) FROM customers"
WRONG = "SELECT COUNT(*) FROM clients"
MISSPELT = "SELECT COUNT(*) FROM customers WHERE city = 'Leidenn'"

INTENTS = json.dumps([{"description": "how many customers", "filters": ["in Leiden"]}])
COVERED = json.dumps({"missing": []})
LINKED = json.dumps({"tables": ["customers"], "columns": ["customers.city"]})
APPROVED = json.dumps({"issues": [], "approved": True})
TOLD = json.dumps(
    {"explanation": "counts the customers who live in Leiden", "assumptions": ["'in' is their city"]}
)


def refused(said: str = "the city is missing", intent: int = 0, severity: str = "severe") -> str:
    """A verdict that refuses a statement for one issue."""
    issue = {"kind": "filter", "intent": intent, "severity": severity, "said": said}
    return json.dumps({"issues": [issue], "approved": False})


WELL = {
    "route": "sql", "intents": INTENTS, "coverage": COVERED, "linked": LINKED, "sql": RIGHT, "verdict": APPROVED,
    "told": TOLD,
}  # fmt: skip
"""Every stage as it should be."""
