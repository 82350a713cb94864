"""Commands that are more than a few lines; `zerokin.cli` puts all of them together."""
