"""Build a benchmark from real text: the method of Zheng and Lapata 2023, section 4, from a request
to a release.
"""
