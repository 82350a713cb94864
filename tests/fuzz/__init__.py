"""Hostile input: mutated files and requests that may end in an error of one line, and no worse.

``python -m tests.fuzz`` runs mutations with a fixed seed, ``python -m tests.fuzz.guided`` lets
coverage choose them.
"""
