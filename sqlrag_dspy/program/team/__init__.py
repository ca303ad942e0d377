"""The SQL team: what a model does for a question that the sketch cannot write, stage by stage.

`work` orders the stages (nothing else decides the order); every other file is one stage, or one value.
"""
