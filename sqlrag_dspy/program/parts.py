"""What the program is made of: its learned parts, its prompts, its thresholds and its models."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import dspy

from sqlrag_dspy.program.demonstrations import Demonstrations
from sqlrag_dspy.program.engine import Engine
from sqlrag_dspy.program.result import Depth
from sqlrag_dspy.program.router import Router
from sqlrag_dspy.program.signatures import BuildSql, ChooseRows, RepairSql, RouteQuestion, WriteAnswer
from sqlrag_dspy.program.sketching.sketch import Sketcher
from sqlrag_dspy.program.team.depth import DepthChooser
from sqlrag_dspy.program.team.stages import Team
from sqlrag_dspy.program.thresholds import Thresholds

LATER = ("team.", "depths")
"""How the names of parts begin that programs saved by earlier versions lack."""


class Parts(dspy.Module):
    """What every step of a question may use. The names of the parts are a file format.

    `lm` is a dspy.LM, "dspy" for the application's own `dspy.settings.lm`, or None for the learned tier
    alone. With `gate_open` False the learned tier never decides while an LM can: so that optimizers see
    every LM call of every question. `depth` forces one depth for SQL (see docs/team.md) in place of what a
    question needs, and `without` leaves out parts of the team: both are for measuring what they are worth.
    """

    def __init__(
        self,
        *,
        lm: Any = None,
        lm_small: Any = None,
        depth: Depth | None = None,
        without: Collection[str] = (),
    ) -> None:
        super().__init__()
        self.router = Router()
        self.sketcher = Sketcher()
        self.thresholds = Thresholds()
        self.demonstrations = Demonstrations()
        self.route_question = dspy.Predict(RouteQuestion)
        self.build_sql = dspy.Predict(BuildSql)
        self.repair_sql = dspy.Predict(RepairSql)
        self.choose_rows = dspy.Predict(ChooseRows)
        self.write_answer = dspy.Predict(WriteAnswer)
        self.team = Team()
        self.depths = DepthChooser()
        self.engine = Engine(lm, lm_small)
        self.gate_open = True
        self.depth = depth
        self.without = frozenset(without)
        self.left_out: list[str] = []
        """Demonstrations that loading left out because they do not fit the database, a line each."""

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> None:
        """The state of a saved program; parts that it is too old to know stay as they are.

        Raises KeyError for any other part that is missing.
        """
        known = {name: part.dump_state() for name, part in self.named_parameters() if name.startswith(LATER)}
        super().load_state({**known, **state}, allow_unsafe_lm_state=allow_unsafe_lm_state)
