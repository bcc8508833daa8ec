"""Predictions without running: no weights are read."""
from __future__ import annotations

from ctypes import byref, c_size_t, c_void_p

from mafat import _library as c
from mafat._facts import Facts, Plan
from mafat._library import count_bytes, file_of, library, text_for
from mafat._model import plan_of
from mafat._options import model_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from mafat._options import Options, Source


class Budget(Facts):
    """A row of a sweep: a budget in bytes and its plan. plan.fits tells if it fits."""

    bytes: int
    plan: Plan


class Packing(c.Handle):
    """A dry_run for the model with weights packed as another type."""

    _closes = "mafat_dry_run_close"


class DryRun(c.Handle):
    _closes = "mafat_dry_run_close"

    def __init__(self, model: Source, weights: Source | None, options: dict, where: str) -> None:
        super().__init__()
        self._options = model_options(options, where, lambda text: None)
        self._arena = options.get("arena")
        self._files = file_of(model), file_of(weights)
        self._call(library.mafat_dry_run_open_files, byref(self._handle), *self._files, byref(self._options))

    def answer(self, budget: int, of: c.Handle | None = None) -> Plan:
        """The plan for a budget; 0: the dry_run's own. of: a dry_run with packed weights."""
        answer, facts = c_void_p(), c.PlanFacts()
        self._call(library.mafat_dry_run_report, byref(answer), (of or self)._alive(), budget)
        try:
            library.mafat_plan_report_describe(answer, byref(facts))
            return plan_of(facts)
        finally:
            library.mafat_plan_report_close(byref(answer))

    def budgets(self) -> list[int]:
        room = (c_size_t * 64)()
        return list(room[:library.mafat_dry_run_budgets(self._alive(), room, len(room))])

    def packed(self, weights: str) -> Packing:
        packing = Packing()
        self._call(library.mafat_dry_run_pack, byref(packing._handle), self._alive(), text_for(weights))
        return packing


def predict(model: Source, weights: Source | None = None, **options: Unpack[Options]) -> Plan:
    """The plan that open() would use with the same options, with its bytes and milliseconds. Reads no weights.

    Without weights, Darknet's file is assumed. If no plan fits, plan.fits is False and the plan is the smallest.
    """
    with DryRun(model, weights, dict(options), "predict") as dry_run:
        return dry_run.answer(0)


def sweep(model: Source, weights: Source | None = None, *, budgets: Sequence[int | str] | None = None, packed: str | None = None,
          **options: Unpack[Options]) -> list[Budget]:
    """A plan for each budget, in ascending order.

    budgets: sizes; None: from the smallest that fits to the largest that is of use.
    packed: a type such as "int8", for the model with weights as mafat.pack would write them.
    """
    with DryRun(model, weights, dict(options), "sweep") as dry_run:
        sizes = dry_run.budgets() if budgets is None else sorted(count_bytes(size) for size in budgets)
        if packed is None:
            return [Budget((size, dry_run.answer(size))) for size in sizes]
        with dry_run.packed(packed) as narrow:
            return [Budget((size, dry_run.answer(size, narrow))) for size in sizes]
