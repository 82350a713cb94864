"""Golden outputs of the commands: recorded before a redesign, compared after it.

    python benchmarks/golden.py record FOLDER --data DIR       # DIR holds cub/
    python benchmarks/golden.py compare FOLDER OTHER           # numbers to 1e-9, all else equal

Everything goes through the command line, whose names outlive those of the code.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUNDLE = ROOT / "tests" / "data" / "bundle-1"
METHODS = ("ours", "ours-taxonomy", "ridge", "eszsl", "sae-s2f")
SETTINGS = ("--setting", "pure", "--setting", "generalized")
EPISODES = ("--shots", "1,5", "--episodes", "200", "--method", "all")
TOLERANCE = 1e-9
IGNORED = ("seconds", "selection_seconds", "written_by", "version", "date")


def zerokin(*arguments: object, out: Path | None = None) -> str:
    command = [sys.executable, "-m", "zerokin", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    said = subprocess.run(command, capture_output=True, text=True, env=environment)
    if said.returncode:
        raise SystemExit(f"{' '.join(command)}: {said.stderr}")
    if out is not None:
        out.write_text(said.stdout, encoding="utf-8")
    return said.stdout


def record(folder: Path, data: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    cub = f"xlsa17={data / 'cub'}"
    steps = {
        f"evaluate-{method}.json": lambda path, method=method: zerokin(
            "evaluate", cub, *SETTINGS, "--method", method, "--json", path
        )
        for method in METHODS
    }
    steps["few-shot.json"] = lambda path: zerokin(
        "evaluate", cub, "--setting", "few-shot", *EPISODES, "--json", path
    )
    steps["few-shot-all.json"] = lambda path: zerokin(
        "evaluate", cub, "--setting", "generalized-few-shot", *EPISODES, "--json", path
    )
    steps["predict-features.csv"] = lambda path: predict_features(path, cub, folder)
    steps["predict-bundle.jsonl"] = lambda path: zerokin(
        "predict",
        BUNDLE,
        *sorted(BUNDLE.rglob("*.jpg")),
        "--json",
        "-k",
        5,
        "--device",
        "cpu",
        out=path,
    )
    steps["demo.json"] = lambda path: run_demo(path, folder)
    for name, step in steps.items():
        if not (folder / name).exists():
            step(folder / name)
        print(name, flush=True)


def predict_features(path: Path, cub: str, folder: Path) -> None:
    zerokin("fit", cub, "--out", folder / "classifier")
    zerokin("predict", folder / "classifier", cub, "-k", 5, "--csv", "--out", path)


def run_demo(path: Path, folder: Path) -> None:
    zerokin("demo", "--out", folder / "demo")
    path.write_bytes((folder / "demo" / "results.json").read_bytes())


def load(path: Path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return json.loads(text)
    if path.suffix == ".jsonl":
        return [
            {**one, "image": Path(one["image"]).name} for one in map(json.loads, text.splitlines())
        ]
    return [[number(cell) for cell in row] for row in csv.reader(text.splitlines())]


def number(cell: str) -> object:
    try:
        return float(cell)
    except ValueError:
        return cell


def differences(one, other, where=""):
    """Yield what differs, by where it stands."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other} - {*IGNORED}):
            if key not in one or key not in other:
                yield f"{where}/{key}: only in {'the second' if key not in one else 'the first'}"
            else:
                yield from differences(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{where}/{place}")
    elif isinstance(one, float | int) and isinstance(other, float | int):
        if not math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{where}: {one} against {other}"
    elif one != other:
        yield f"{where}: {str(one)[:80]} against {str(other)[:80]}"


def compare(first: Path, second: Path) -> int:
    total = 0
    for path in sorted(first.glob("*.*")):
        if not (second / path.name).exists():
            print(f"{path.name}: not recorded in {second}")
            continue
        found = list(differences(load(path), load(second / path.name)))
        print(f"{path.name}: {len(found)} differences")
        for line in found[:20]:
            print(f"  {line}")
        total += len(found)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    given = parser.parse_args()
    if given.what == "record":
        record(given.folder.resolve(), given.data.resolve())
    else:
        raise SystemExit(bool(compare(given.folder, given.other)))


if __name__ == "__main__":
    main()
