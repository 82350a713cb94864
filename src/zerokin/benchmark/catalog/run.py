"""A run of the catalog: a command whose rows are recorded, or that draws a figure."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

PLACEHOLDER = re.compile(r"\{([a-z0-9-]+)\}")
OUT = "out"


class Run(BaseModel):
    """A command, what it needs, and where it leaves its rows.

    Parameters
    ----------
    name, title
        What it is called: by the command line and its record, and by people.
    command
        With ``{cub}`` and the like for folders of data, and ``{out}`` for what it writes.
    needs
        Data, devices and time, in words.
    features
        What the rows' features were read with, where that is one network.
    data
        Name of the data set whose folder a user must give; none for embedded data.
    rows
        File below ``{out}`` that the command writes its rows to.
    draws
        Images below ``{out}`` that it draws. A run that only draws has no numbers to record.
    trained
        Whether networks are trained: rows then agree within the recorded spread.
    spread
        Points by which a figure of one seed may move, where networks are trained.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    command: str
    needs: str
    features: str | None = None
    data: str | None = None
    rows: str = "rows.json"
    draws: tuple[str, ...] = ()
    trained: bool = False
    spread: float | None = None

    @property
    def recordable(self) -> bool:
        """Whether it writes rows."""
        return not self.draws or self.rows != Run.model_fields["rows"].default


def placeholders(command: str) -> list[str]:
    """Return the data sets whose folders a command needs.

    Examples
    --------
    >>> placeholders("zerokin compare xlsa17={cub} --out {out}/rows.json")
    ['cub']
    """
    return [name for name in dict.fromkeys(PLACEHOLDER.findall(command)) if name != OUT]
