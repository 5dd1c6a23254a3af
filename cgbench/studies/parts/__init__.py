"""Probes: does a system know the parts of what it gets wrong?"""
