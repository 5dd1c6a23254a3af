"""What ``verify`` checks of a release, by what is compared.

Each check is a function of an open :class:`.Release`. It returns the difference (empty: none), or
a :class:`.Check` for each thing that it checked.
"""
