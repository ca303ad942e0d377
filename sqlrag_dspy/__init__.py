"""Questions in plain language, answered from the SQL database that you already have.

    import sqlrag_dspy
    rag = sqlrag_dspy.load("articles", source="sqlite:///articles.db")
    rag.ask("technology articles about crypto in 2023")

Importing this package is fast: DSPy, DuckDB and FAISS load with the first program.
"""

__version__ = "0.1.0"
