"""Features of all images of a data set, written to a file as they come."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from zerokin.aliases import FEATURE_NOTES, renamed
from zerokin.compute.machine import available_cores
from zerokin.compute.processes import current
from zerokin.data.dataset import Dataset
from zerokin.data.image_stamps import Stamps, image_stamps
from zerokin.data.images import Images, joint_sha256
from zerokin.data.native_features import DTYPES, SUFFIX, Layout, NativeFeatures, joined_names
from zerokin.data.native_writer import FeatureWriter, differences
from zerokin.data.readers.xlsa17_writer import refuse_unwritable, write_xlsa17
from zerokin.errors import InvalidInput, ZerokinError, did_you_mean
from zerokin.features.extractor import AnyNetwork, Extractor
from zerokin.features.input.feature_rows import FeatureRows
from zerokin.features.input.sources import Source, open_source
from zerokin.features.reading import View, read_images, reading_parts
from zerokin.features.ready_features import open_features
from zerokin.features.shared_extraction import ImageRange, write_together
from zerokin.files import replacing_folder
from zerokin.progress import track

HASHED_TOGETHER = 256
RECIPE = "recipe.json"


def extract_features(
    network: AnyNetwork | Extractor,
    dataset: Dataset,
    path: str | os.PathLike[str],
    *,
    view: View | None = None,
    dtype: str = "float32",
    quiet: bool = False,
) -> NativeFeatures:
    """Write the features of all images of a data set to a file.

    Interrupted and called again, it goes on where it stopped: the file comes out the same, byte
    for byte. A file of the same recipe that is there already is left as it is. Several processes
    (`zerokin.compute.joined`) share the images.

    Parameters
    ----------
    network
        A `FeatureLearner`, a network, a backbone, or an `Extractor`, which also knows the
        resize mode and the source of the weights.
    dataset
        Images; or ready features, for a network that reads such.
    path
        The file, ``.safetensors``.
    view
        How images are shown; by default as the network is meant to see them.
    dtype
        ``"float32"``, or ``"float16"`` for half the size.
    quiet
        Show no progress.

    Returns
    -------
    NativeFeatures
        The file; ``load_dataset(..., features=path)`` opens it together with its data set.
    """
    path = Path(path).expanduser()
    if path.suffix != SUFFIX:
        raise InvalidInput(f"feature files end in {SUFFIX}: got {path}")
    former = None
    if path.exists():
        try:
            former = NativeFeatures(path)
        except InvalidInput as error:
            raise InvalidInput(f"will not replace what is no feature file: {error}") from error
    extractor, processes = _extractor(network, view), current()
    if processes.shared:
        plan = _plan(extractor, dataset, dtype, quiet=quiet)
        processes.refuse_different("images", plan.digests.tobytes())
        if processes.any(former is None or not plan.is_done_by(former)):
            write_together(path, plan, partial(_write, quiet=quiet), processes)
        return NativeFeatures(path)
    with FeatureWriter(path) as writer:
        plan = _plan(extractor, dataset, dtype, quiet=quiet)
        if isinstance(plan.images, FeatureRows):
            plan.images.refuse_unnamed()
        if former is not None:
            if plan.is_done_by(former):
                _say(f"{path} is there already, of the same recipe", quiet=quiet)
                return former
            there = replace(former.layout, recipe=renamed(FEATURE_NOTES, former.recipe))
            how = differences(there, plan.layout) or "images have changed"
            _say(f"{path} will be replaced: {how}", quiet=quiet)
        _write(plan, writer, quiet=quiet)
    return NativeFeatures(path)


def extract_xlsa17(
    network: AnyNetwork | Extractor,
    dataset: Dataset,
    folder: str | os.PathLike[str],
    *,
    view: View | None = None,
    quiet: bool = False,
) -> None:
    """Write the features of all images of a data set, and the data set, in the xlsa17 form.

    The folder holds ``BACKBONE.mat`` (float32), ``att_splits.mat``, the lists of classes and
    ``recipe.json``. It is there whole or not at all; an interrupted call goes on where it stopped.

    Parameters
    ----------
    network, view, quiet
        As for `extract_features`.
    dataset
        Images, with a split named ``pure`` and semantic vectors.
    folder
        Where to write.
    """
    folder = Path(folder).expanduser()
    refuse_unwritable(dataset)
    if current().shared:
        raise InvalidInput(
            "the xlsa17 form is written by one process: leave out torchrun, or --format xlsa17"
        )
    if (view or View(1)).regions or (isinstance(network, Extractor) and network.view.regions):
        raise InvalidInput("the xlsa17 form has one vector an image: use the native format")
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file: the xlsa17 form is a folder, choose another name")
    if folder.exists() and not (folder / RECIPE).exists() and any(folder.iterdir()):
        raise InvalidInput(f"{folder} holds something else: choose another folder")
    extractor = _extractor(network, view)
    native = folder.with_name(f".{folder.name}{SUFFIX}")
    with FeatureWriter(native) as writer:
        plan = _plan(extractor, dataset, "float32", quiet=quiet)
        if plan.layout.shape[0] * plan.layout.row_bytes > 2**31 - 1:
            raise InvalidInput(
                f"features of {plan.layout.shape[0]:,} × {plan.layout.shape[1]:,} are over the "
                f"2 GiB that a MATLAB file can hold: use the native format"
            )
        if _read_recipe(folder / RECIPE) == plan.layout.recipe:
            _say(f"{folder} is there already, of the same recipe", quiet=quiet)
            native.unlink(missing_ok=True)  # of one that was killed when it had done all the rest
            return
        if not (native.exists() and plan.is_done_by(NativeFeatures(native))):
            _write(plan, writer, quiet=quiet)
    with replacing_folder(folder) as temporary:
        found = dataset.with_inputs(NativeFeatures(native))
        write_xlsa17(found, temporary, features=str(plan.layout.recipe["backbone"]))
        text = json.dumps(plan.layout.recipe, indent=1, sort_keys=True, ensure_ascii=False)
        (temporary / RECIPE).write_text(text + "\n", encoding="utf-8")
    native.unlink()


@dataclass(frozen=True, eq=False)
class ExtractionPlan:
    """What is to be extracted, from what, and how."""

    extractor: Extractor
    images: Images | FeatureRows
    digests: NDArray[np.uint8]
    stamps: Stamps
    layout: Layout

    def is_done_by(self, file: NativeFeatures) -> bool:
        same = (
            renamed(FEATURE_NOTES, file.recipe) == self.layout.recipe
            and file.layout.shape == self.layout.shape
        )
        return same and list(file.names) == list(self.images.names)


def _extractor(network: AnyNetwork | Extractor, view: View | None) -> Extractor:
    if not isinstance(network, Extractor):
        return Extractor.from_network(network, view=view)
    if view is not None:
        raise InvalidInput("an Extractor has its own view: give no other")
    return network


def _plan(extractor: Extractor, dataset: Dataset, dtype: str, *, quiet: bool) -> ExtractionPlan:
    if dtype not in DTYPES:
        hint = did_you_mean(dtype, DTYPES)
        raise InvalidInput(f"unknown dtype {dtype!r}{hint} (known: {', '.join(DTYPES)})")
    images = dataset.images if extractor.reads_images else FeatureRows(dataset)
    if not len(images):
        raise InvalidInput(f"{dataset.provenance.source} has no images to extract features of")
    names_bytes = len(joined_names(images.names))
    # Before they are read: of one that changes meanwhile, the time is another afterwards.
    stamps = image_stamps(images)
    processes = current()
    if isinstance(images, Images):
        own: Images | FeatureRows = ImageRange(images, processes.share(len(images)))
    elif processes.shared:
        raise InvalidInput("ready features are read by one process: extract without torchrun")
    else:
        own = images
    digests = processes.gather(image_digests(own, quiet=quiet))
    recipe: dict[str, Any] = {
        **extractor.recipe(),
        "dataset": dataset.name,
        "data": dataset.provenance.source.partition("=")[0],
        "images_sha256": joint_sha256(images.names, [row.tobytes() for row in digests]),
        "dtype": dtype,
    }
    shape = (len(images), extractor.width)
    layout = Layout(shape, dtype, names_bytes, recipe, stamped=True)
    return ExtractionPlan(extractor, images, digests, stamps, layout)


def image_digests(images: Images | FeatureRows, *, quiet: bool = True) -> NDArray[np.uint8]:
    """Return the SHA-256 of every image, (N, 32)."""

    def block(start: int) -> bytes:
        end = min(start + HASHED_TOGETHER, len(images))
        return b"".join(images.digest(index) for index in range(start, end))

    starts = range(0, len(images), HASHED_TOGETHER)
    with ThreadPoolExecutor(available_cores()) as pool:
        blocks = pool.map(block, starts)
        stage = f"hashing images, {HASHED_TOGETHER} at a time"
        try:
            whole = b"".join(track(blocks, stage, total=len(starts), quiet=quiet))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return np.frombuffer(whole, np.uint8).reshape(len(images), -1)


def _write(plan: ExtractionPlan, writer: FeatureWriter, *, quiet: bool) -> None:
    extractor, layout, names = plan.extractor, plan.layout, plan.images.names
    begun = writer.begin(
        layout, plan.digests, names, block=extractor.view.batch_size, stamps=plan.stamps
    )
    done = begun.done
    if begun.differences is not None:
        _say(f"starting over, an earlier extraction differed: {begun.differences}", quiet=quiet)
    elif done:
        _say(f"going on after {done:,} of {len(names):,} images", quiet=quiet)
    source = _opened(plan)
    try:
        for reading in read_images(
            extractor.network, source, extractor.view, first=done, quiet=quiet
        ):
            values = reading.joined.float().cpu().numpy()
            writer.append(_stored(values, layout, names[done : done + len(values)]))
            done += len(values)
    except ZerokinError as error:
        if not done:
            raise
        raise InvalidInput(
            f"{error}; {done:,} of {len(names):,} images are done and kept: call again to go on"
        ) from error
    writer.finish()


def _opened(plan: ExtractionPlan) -> Source:
    extractor = plan.extractor
    if isinstance(plan.images, FeatureRows):
        backbone = reading_parts(extractor.network)[0]
        return open_features(plan.images.features, backbone, extractor.device)
    # Every image is needed once: none is worth keeping in memory.
    return open_source(
        plan.images,
        extractor.cache_size,
        resize_mode=extractor.resize_mode,
        device=extractor.device,
        resident=False,
    )


def _stored(values: NDArray[np.float32], layout: Layout, names: Any) -> NDArray[np.floating]:
    """Return features in the file's type; what it cannot hold is refused."""
    if values.shape[1] != layout.shape[1]:
        raise InvalidInput(
            f"the network gives {values.shape[1]:,} features instead of {layout.shape[1]:,}"
        )
    with np.errstate(over="ignore"):
        stored: NDArray[np.floating] = values.astype(layout.dtype)
    broken = np.flatnonzero(~np.isfinite(stored).all(axis=1))
    if len(broken):
        row = broken[0]
        if np.isfinite(values[row]).all():
            largest = np.abs(values[row]).max()
            raise InvalidInput(
                f"a feature of {names[row]} is {largest:.3g}, too large for {layout.dtype}: "
                f"use float32"
            )
        raise InvalidInput(f"the network gives features of {names[row]} that are not finite")
    return stored


def _read_recipe(path: Path) -> object:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return renamed(FEATURE_NOTES, found) if isinstance(found, dict) else found


def _say(line: str, *, quiet: bool) -> None:
    Console(stderr=True, quiet=quiet, highlight=False).print(line, soft_wrap=True, markup=False)
