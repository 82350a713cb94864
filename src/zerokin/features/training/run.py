"""A training under way: its steps, its epochs, and how it stops and goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from zerokin.compute.device import to_device
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.features.input.sources import Rows, Source
from zerokin.features.networks.mixup import neighbors
from zerokin.features.networks.network import FeatureNetwork
from zerokin.features.networks.weight_files import read_weights, save_weights
from zerokin.features.training import checkpoint
from zerokin.features.training.batch_sampler import BatchSampler
from zerokin.features.training.compact import compress, expand
from zerokin.features.training.compilation import compile_backbone
from zerokin.features.training.display import TrainingDisplay
from zerokin.features.training.distillation import Teacher, check_teacher
from zerokin.features.training.distributed import leading, make_accelerator
from zerokin.features.training.ema import WeightEMA
from zerokin.features.training.episode_sampler import EpisodeSampler, check_head
from zerokin.features.training.fingerprint import fingerprint, refuse_other
from zerokin.features.training.log import NAME as LOG
from zerokin.features.training.log import TrainingLog
from zerokin.features.training.loss_sums import LossSums
from zerokin.features.training.objective import Labels, Objective
from zerokin.features.training.optimizer import make_optimizer
from zerokin.features.training.recipe import Recipe
from zerokin.features.training.records import Epoch, Progress, Targets, TrainingPaused
from zerokin.features.training.rng import seed_dropout
from zerokin.features.training.schedule import rate
from zerokin.features.training.sync_batch_norm import SyncBatchNorm
from zerokin.features.training.training_batch import BatchAugmenter, TrainingBatch
from zerokin.features.training.vector_batches import VectorBatches

BEST = "best.safetensors"
CHECKPOINT_SECONDS = 300.0
CLOCK_STEPS = 20

Validate = Callable[[FeatureNetwork], float]


class TrainingRun:
    """A training under way."""

    def __init__(
        self,
        network: FeatureNetwork,
        source: Source,
        targets: Targets,
        recipe: Recipe,
        folder: Path | None,
        device: str | None,
        origin: str | None = None,
        teacher: FeatureNetwork | None = None,
    ) -> None:
        _check_counts(source, targets)
        check_teacher(network, recipe, teacher)
        self.network, self.source, self.recipe, self.folder = network, source, recipe, folder
        self.accelerator = make_accelerator(recipe.precision, device)
        self.device: torch.device = self.accelerator.device
        self.leads: bool = self.accelerator.is_main_process
        self.processes: int = self.accelerator.num_processes
        check_head(network.head, recipe, processes=self.processes)
        self.episode_labels: Labels | None = None
        self.sampler = self._sampler(targets)
        self.steps_per_epoch = self.sampler.per_epoch
        self.total_steps = recipe.epochs * self.steps_per_epoch
        self.augmenter = self._augmenter()
        self.targets = Targets(
            *(torch.from_numpy(np.array(given)).to(self.device) for given in targets)  # type: ignore[arg-type]
        )
        network.drop_rotation_head()
        if recipe.rotation_weight:
            network.add_rotation_head()
        network.to(self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        if recipe.compiled:
            compile_backbone(network.backbone, recipe)
        self.shared = self.accelerator.prepare(network)
        # Not wrapped as the network is: Accelerate looks for packages on disk in every step of one.
        self.optimizer = make_optimizer(network, recipe, self.device)
        self.ema = WeightEMA(network, recipe.ema_decay) if recipe.ema_decay else None
        self.objective = Objective(network, recipe)
        autocast = self.accelerator.autocast
        self.teacher = None if teacher is None else Teacher(teacher, self.device, autocast)
        self.fingerprint = fingerprint(network, source, targets, recipe, origin, teacher)
        self.progress = Progress()
        self.compact = False
        self.kept: dict[str, Tensor] = {}

    def _augmenter(self) -> BatchAugmenter | VectorBatches:
        """Return what makes a batch of the samples of a step."""
        recipe, backbone = self.recipe, self.network.backbone
        if not backbone.reads_images:
            return VectorBatches(recipe, self.sampler, self.device)
        image_size = recipe.image_size or backbone.input_size
        return BatchAugmenter(recipe, self.sampler, image_size, self.device, backbone.mixup_places)

    def _sampler(self, targets: Targets) -> BatchSampler:
        """Return what draws the images of a step."""
        if self.recipe.episode_way is not None:
            episodes = EpisodeSampler(targets.classes, self.recipe)
            places = torch.from_numpy(episodes.labels).to(self.device)
            self.episode_labels = Labels(places, places.new_zeros((len(places), 0)))
            return episodes
        return BatchSampler(
            len(self.source),
            batch_size=self.recipe.batch_size,
            seed=self.recipe.seed,
            parts=self.recipe.accumulation,
            processes=self.processes,
            process=self.accelerator.process_index,
        )

    def resume(self) -> None:
        """Go on from the checkpoint in the folder, if there is one."""
        if self.folder is not None and self.leads:
            checkpoint.tidy(self.folder, (checkpoint.NAME, BEST, LOG))
        path = self.folder and self.folder / checkpoint.NAME
        if path is None or not path.exists():
            return
        groups, state = checkpoint.load_checkpoint(path)
        groups, state = checkpoint.under_new_names(groups, state)
        try:
            refuse_other(state["fingerprint"], self.fingerprint, path)
            self.network.load_state_dict(groups["network"])
            checkpoint.restore_optimizer(self.optimizer, expand(groups.get("optimizer", {})))
            if self.ema is not None:
                self.ema.load(groups["ema"])
            self.progress = Progress(**state["progress"])
            self.progress.check(self.total_steps)
        except ZerokinError:
            raise
        # Whatever is missing or of another shape shows where torch wants to use it.
        except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise InvalidInput(f"{path} is damaged ({reason}): remove it to start over") from error

    def save(self) -> None:
        """Write a checkpoint of the present moment."""
        self.saved = time.perf_counter()
        if self.folder is None or not self.leads:
            return
        memory = checkpoint.optimizer_tensors(self.optimizer)
        groups = {
            "network": self.network.state_dict(),
            "optimizer": compress(memory) if self.compact else memory,
            "ema": {} if self.ema is None else self.ema.tensors,
        }
        state = {"fingerprint": self.fingerprint, "progress": asdict(self.progress)}
        checkpoint.save_checkpoint(self.folder / checkpoint.NAME, groups, state)

    def epoch(
        self,
        log: TrainingLog,
        display: TrainingDisplay,
        log_every: int,
        checkpoint_every: int | None,
        until: float | None = None,
    ) -> None:
        """Go through the rest of the epoch that is under way, or pause when its time is up."""
        progress, first = self.progress, self.progress.step
        number = first // self.steps_per_epoch
        self.started, self.first = time.perf_counter(), first
        self._training_mode()
        sums = LossSums()
        carried = dict(progress.sums)
        feed = self.source.batches(r for _, _, r in self.sampler.of_epoch(number, first=first))
        plan = self.sampler.of_epoch(number, first=first)
        self.saved = time.perf_counter()
        synchronized = SyncBatchNorm() if self.processes > 1 else nullcontext()
        for step in range(first, (number + 1) * self.steps_per_epoch):
            for group in self.optimizer.param_groups:
                group["lr"] = rate(self.recipe, step, self.steps_per_epoch, group=group["name"])
            losses = LossSums()
            for _ in range(self.recipe.accumulation):
                _, part, rows = next(plan)
                with synchronized:
                    losses.add(self.learn_from(next(feed), rows, step, part))
            self.update()
            sums.add_all(losses)
            progress.step = step + 1
            if self.ema is not None:
                self.ema.update(progress.step)
            display.at(progress.step, number + 1)
            if progress.step % log_every == 0:
                shown = self._means(losses)
                display.losses(shown)
                log.write({"step": progress.step, "loss": shown})
            if progress.step % self.steps_per_epoch:
                paused = self.out_of_time(until)
                if paused or self._due(checkpoint_every):
                    progress.sums = self._summed(carried, sums)
                    self.save()
                if paused:
                    raise self.pause()
        progress.sums = self._summed(carried, sums)

    def out_of_time(self, until: float | None) -> bool:
        """Tell whether it is later than a time of `perf_counter`, the same in every process."""
        if until is None or (self.processes > 1 and self.progress.step % CLOCK_STEPS):
            return False
        return leading(self.accelerator, time.perf_counter() - until) > 0

    def pause(self) -> TrainingPaused:
        """Return what says how far the training is."""
        return TrainingPaused(self.progress.step / self.steps_per_epoch, self.recipe.epochs)

    def _due(self, checkpoint_every: int | None) -> bool:
        """Tell whether it is time for a checkpoint, the same in every process."""
        if checkpoint_every is not None:
            return self.progress.step % checkpoint_every == 0
        # Clocks differ: the leading process decides, and the others ask only now and then.
        if self.processes > 1 and self.progress.step % CLOCK_STEPS:
            return False
        return leading(self.accelerator, time.perf_counter() - self.saved) > CHECKPOINT_SECONDS

    def finish_epoch(self, validate: Validate | None, log: TrainingLog) -> Epoch:
        """Validate, record and save what the epoch came to."""
        progress = self.progress
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        seconds = time.perf_counter() - self.started
        shown = (progress.step - self.first) * self.sampler.size
        number = progress.step // self.steps_per_epoch
        score = None if validate is None else self._validated(validate)
        epoch = Epoch(
            epoch=number,
            step=progress.step,
            loss={k: round(v / self.steps_per_epoch, 6) for k, v in progress.sums.items()},
            seconds=round(seconds, 3),
            images_per_second=round(shown / seconds, 1),
            validation=score,
        )
        progress.sums = {}
        progress.epochs.append(asdict(epoch))
        if score is not None and score > progress.best_score:
            progress.best_epoch, progress.best_score = number, score
            self._keep_best()
        # First the line, then the checkpoint: stopped in between, the line is written again.
        log.write({**asdict(epoch), "lr": self.rates()})
        self.save()
        return epoch

    def exhausted(self, patience: int | None) -> bool:
        """Tell whether validation has not improved for too long."""
        progress = self.progress
        done = progress.step // self.steps_per_epoch
        return patience is not None and done > 0 and done - progress.best_epoch >= patience

    def finish(self, *, best: bool) -> None:
        """Leave the network with the weights that count."""
        if self.ema is not None:
            self.ema._swap()
        if best and self.progress.best_epoch:
            if self.folder is not None:
                self.accelerator.wait_for_everyone()
                self.kept = checkpoint.under_new_layers(read_weights(self.folder / BEST))
            self.network.load_state_dict(self.kept)
        self.network.eval()
        self.accelerator.wait_for_everyone()

    def release(self) -> None:
        """Give the network back as it came: not compiled, `forward` without Accelerate's wrap.

        What only training needs of it is gone, too.
        """
        self.network.drop_rotation_head()
        # Reading shows other batches in another mode: it would be compiled all over again.
        self.network.backbone.model._compiled_call_impl = None
        for name in ("forward", "_original_forward"):
            self.network.__dict__.pop(name, None)

    def rates(self) -> dict[str, float]:
        """Return the learning rates of the latest step."""
        return {group["name"]: group["lr"] for group in self.optimizer.param_groups}

    def learn_from(self, images: Tensor, rows: Rows, step: int, part: int) -> dict[str, Tensor]:
        """Add the gradient of one part of a batch; return its losses."""
        if self.recipe.compiled and self.device.type == "cuda":
            # What CUDA graphs left in memory in the step before may be written over.
            torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        batch = self.augmenter.make_batch(images, step, part)
        seed_dropout(
            seed=self.recipe.seed,
            step=step,
            process=self.accelerator.process_index,
            part=part,
            device=self.device,
        )
        return self.backward(batch, rows, last=part == self.recipe.accumulation - 1)

    def backward(self, batch: TrainingBatch, rows: Rows, *, last: bool = True) -> dict[str, Tensor]:
        """Pass a batch through the network and back; return the losses."""
        accumulation = self.recipe.accumulation
        index = to_device(torch.from_numpy(rows), self.device)
        shares = batch.shares(self.augmenter.places)
        taught = None if self.teacher is None else self.teacher(batch.view, shares)
        with nullcontext() if last else self.accelerator.no_sync(self.shared):
            outputs = self.shared(batch.view, shares)
            labels = self.episode_labels or Labels(
                self.targets.classes[index], self.targets.layers[index]
            )
            share = batch.others_share()
            others = (
                None if share is None else (share, Labels(*(neighbors(given) for given in labels)))
            )
            loss, parts = self.objective(
                outputs,
                labels,
                rotations=batch.rotations,
                taught=taught,
                others=others,
                copies=batch.copies,
            )
            losses = {"total": loss, **parts}
            if accumulation > 1:
                losses = {name: value / accumulation for name, value in losses.items()}
            losses["total"].backward()  # type: ignore[no-untyped-call]
        return {name: value.detach() for name, value in losses.items()}

    def update(self) -> None:
        """Take a step along the gradients."""
        if self.recipe.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.shared.parameters(), self.recipe.clip_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _training_mode(self) -> None:
        self.shared.train()
        if self.recipe.frozen_batch_norm:
            for module in self.network.modules():
                if isinstance(module, nn.modules.batchnorm._BatchNorm):
                    module.eval()

    def _validated(self, validate: Validate) -> float:
        self.network.eval()
        with self.ema.in_place() if self.ema is not None else nullcontext():
            # Every process must stop after the same epoch: one score counts.
            return leading(self.accelerator, float(validate(self.network)))

    def _keep_best(self) -> None:
        with self.ema.in_place() if self.ema is not None else nullcontext():
            if self.folder is None:
                self.kept = {k: v.detach().clone() for k, v in self.network.state_dict().items()}
            elif self.leads:
                save_weights(self.network, self.folder / BEST)

    def _means(self, sums: LossSums) -> dict[str, float]:
        """Return sums as numbers, averaged over processes: the one place that waits for a GPU."""
        whole = sums.values
        if whole is None:
            return {}
        if self.processes > 1:
            whole = self.accelerator.reduce(whole, "mean")
        means = [float(value) for value in whole.tolist()]
        if not np.isfinite(means).all():
            raise InvalidInput(
                f"the loss is no longer finite at step {self.progress.step:,}: lower lr (now "
                f"{self.recipe.lr:g}), add a warmup or set clip_norm"
            )
        return dict(zip(sums.names, means, strict=True))

    def _summed(self, carried: dict[str, float], sums: LossSums) -> dict[str, float]:
        return {name: carried.get(name, 0.0) + value for name, value in self._means(sums).items()}


def _check_counts(source: Source, targets: Targets) -> None:
    if len(source) == 0:
        raise InvalidInput("there are no training images: give some")
    for name, given in targets._asdict().items():
        if len(source) != len(given):
            raise InvalidInput(
                f"{len(source):,} images but {len(given):,} labels ({name}): give one each"
            )
