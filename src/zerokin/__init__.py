"""zerokin recognises classes it has no pictures of, through the superclasses they share."""

from zerokin._version import __version__

__all__ = ["__version__"]
