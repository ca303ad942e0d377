"""The stages whose prompts belong to the team alone. The names are a file format."""

from __future__ import annotations

import dspy

from sqlrag_dspy.program.team.agent import Agent
from sqlrag_dspy.program.team.critic import Critic
from sqlrag_dspy.program.team.explainer import Explainer
from sqlrag_dspy.program.team.intents import IntentChecker, IntentParser
from sqlrag_dspy.program.team.linking import SchemaLinker


class Team(dspy.Module):
    """Every stage with a fresh context: none sees what another was told, only what it concluded."""

    def __init__(self) -> None:
        super().__init__()
        self.intents = IntentParser()
        self.coverage = IntentChecker()
        self.schema = SchemaLinker()
        self.critic = Critic()
        self.explainer = Explainer()
        self.agent = Agent()
