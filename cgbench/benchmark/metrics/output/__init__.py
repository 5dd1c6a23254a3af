"""Scores as one long table, and its forms: text, JSON, TSV, Markdown, LaTeX, HTML, pandas.

Every analysis adds rows of the same shape (``rows.py``); ``tables.py`` selects those that people read, ``forms.py``
writes them, ``as_json.py`` has the JSON.
"""
