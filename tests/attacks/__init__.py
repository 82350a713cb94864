"""Attacks on a real server process, on loopback: each must be refused, and the server stay well."""
