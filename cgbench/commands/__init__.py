"""The commands, a command a file: parse, call one function, print; what they print is in ``*_report.py``."""
