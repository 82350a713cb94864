"""Mutation testing: small changes of the sources that the tests of a room must notice."""
