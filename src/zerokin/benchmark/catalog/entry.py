"""An entry of the catalog: a table or figure, the runs behind it, and what others reported."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, model_validator


class Column(BaseModel):
    """A column: which figure of which rows it shows.

    Parameters
    ----------
    heading
        What stands above it.
    setting, metric
        Of the rows.
    data
        Data set of the runs whose rows it shows; that of any run by default.
    shots
        Number of shots of the rows, in few-shot settings.
    methods
        Names of the rows' methods, where the column is about a method.
    digits
        Digits after the point.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    heading: str
    setting: str
    metric: str
    data: str | None = None
    shots: int | None = None
    methods: tuple[str, ...] = ()
    digits: int = 1


class Reported(BaseModel):
    """A line that others reported, as printed.

    Parameters
    ----------
    model
        Who, and on which features.
    values
        A text per column as it was printed; None where nothing was.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    values: tuple[str | None, ...]


class Entry(BaseModel):
    """A table or figure.

    Parameters
    ----------
    name, title
        What it is called: by the command line, and by people.
    paper
        What it is in the paper.
    runs
        Names of the runs that make ours.
    only
        By the name of a run: the methods whose lines are shown, where its record holds more.
    columns
        Of the table; none where there are no numbers.
    by_run
        A line per run, whose columns are about methods, in the place of a line per method.
    together
        All runs make one table: they are seeds of one experiment.
    needs
        What is missing, where no run makes it yet.
    reported
        The paper's lines.
    best_known
        Best results that others report today.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    paper: str
    runs: tuple[str, ...] = ()
    only: dict[str, tuple[str, ...]] = {}
    columns: tuple[Column, ...] = ()
    by_run: bool = False
    together: bool = False
    needs: str | None = None
    reported: tuple[Reported, ...] = ()
    best_known: tuple[Reported, ...] = ()

    @model_validator(mode="after")
    def _a_value_per_column(self) -> Entry:
        for line in (*self.reported, *self.best_known):
            if len(line.values) != len(self.columns):
                raise ValueError(f"{line.model}: {len(line.values)} values, not one per column")
        return self

    @model_validator(mode="after")
    def _only_of_runs(self) -> Entry:
        foreign = [name for name in self.only if name not in self.runs]
        if foreign:
            raise ValueError(f"only: {foreign[0]} is no run of {self.name}")
        return self
