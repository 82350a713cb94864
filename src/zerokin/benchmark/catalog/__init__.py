"""Catalog of the paper's tables and figures: the runs that make ours, and what was reported."""

from zerokin.benchmark.catalog.catalog import Catalog, load_catalog
from zerokin.benchmark.catalog.entry import Column, Entry, Reported
from zerokin.benchmark.catalog.run import Run

__all__ = ["Catalog", "Column", "Entry", "Reported", "Run", "load_catalog"]
