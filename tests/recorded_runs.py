"""Records made up for tests, through the writer itself or around it."""

from __future__ import annotations

import json

from zerokin.benchmark.records import Record, seal, write_record


def row(method="ridge", seed=0, setting="pure", **metrics):
    return {
        "dataset": "cub",
        "setting": setting,
        "method": method,
        "features": "res7.mat",
        "features_sha256": "ab" * 32,
        "split": "xlsa17 proposed",
        "seed": seed,
        "selection": {"on": "3 folds"},
        "metrics": metrics or {"per_class_top1": 53.03, "hit5": 87.1},
        "seconds": {"fit": 0.1},
    }


def record(name="cub-features-linear", rows=None, **changed):
    rows = rows or [row()]
    given = {
        "name": name,
        "title": "made up",
        "command": "zerokin compare xlsa17={cub} --methods ridge --out {out}/rows.json",
        "rows": rows,
        "seeds": sorted({one["seed"] for one in rows}),
        "data": {},
        "versions": {"python": "3.11.0"},
        "device": "CPU",
        "date": "2020-01-02",
    }
    return Record(**(given | changed))


def write_changed(folder, name="cub-features-linear", *, sealed=True, **changed):
    """Write a record with other content, sealed anew or with the seal of before."""
    path = write_record(record(name), folder)
    content = json.loads(path.read_text(encoding="utf-8")) | changed
    if sealed:
        content["sha256"] = seal(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
