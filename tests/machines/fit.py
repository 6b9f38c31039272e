#!/usr/bin/env python3
"""Fits how many instructions each kind of work takes to what an emulator counted.

    CELLC_BLESS=1 cargo test -p cellc-tests --features full --test all -- --include-ignored instructions::the_corpus
    tests/machines/fit.py FILE...

A FILE is the work-MACHINE.txt of a machine, which the test writes into cargo's folder for what tests write (tmp below the target folder); that of
armhf-neon-fma goes with that of armhf-neon. It prints the rows of `cellc/src/arch/arm/work.rs` or `cellc/src/arch/riscv/work.rs`, and how far the
estimates are off, also of each model by the numbers that the others give. It needs numpy."""

import os
import sys

import numpy as np

# what is known without a fit: a number that the corpus does not tell apart stays near it
KNOWN = {
    "Step": 40, "Kernel": 20, "Kept": 1, "Loop": 3, "Iteration": 2, "Window": 1, "Overlap": 0, "Branch": 3, "Load": 1, "LoadHalf": 2, "LoadByte": 2,
    "LoadBytePairs": 2, "DotPairs": 2, "DotPairsOfOne": 2, "DotQuads": 2, "Splat": 1, "Length": 3, "Store": 1, "Constant": 1, "MultiplyAdd": 1, "Add": 1,
    "Multiply": 1, "Divide": 1, "Select": 2, "Flush": 3, "Bits": 1, "Convert": 1, "Call": 4, "Line": 4, "Neighbour": 0.5, "Element": 2,
}

# how near a number stays to what is known
WEIGHT = 0.05

# where the corpus does not tell a division from the other calls
OWN_WEIGHT = {"riscv32": 0.2}

# where it takes what C has
IN_C = {"LoadHalf": 17, "LoadBytePairs": 5, "DotPairs": 6, "DotQuads": 8}

# where floats are computed by calls
IN_CALLS = {
    **IN_C, "LoadHalf": 150, "LoadByte": 30, "Constant": 2, "Add": 60, "Multiply": 60, "Divide": 200, "Select": 50, "Flush": 8,
    "Convert": 30,
}

# what is known of some machines
OWN = {
    "cortex-m0": IN_CALLS, "cortex-m3": IN_CALLS, "riscv32": IN_CALLS, "armhf-vfp": {**IN_C, "MultiplyAdd": 1.2}, "riscv64": IN_C,
    "armhf-neon": {"LoadHalf": 80, "LoadByte": 28, "DotPairs": 2, "DotQuads": 4},
    "cortex-m55": {"DotPairs": 0.5, "DotQuads": 0.3, "Overlap": 15.5},
    "riscv64-vector": {**IN_C, "LoadByte": 5},
}


def fit(work, counts, known, weight):
    """Least squares of relative errors, near what is known, nothing below zero."""
    rows = work / counts[:, None]
    scale = np.maximum(known, 0.5)
    a = np.vstack([rows, weight * np.diag(1 / scale)])
    b = np.concatenate([np.ones(len(counts)), weight * known / scale])
    free = np.ones(len(known), bool)
    while True:
        found = np.zeros(len(known))
        found[free] = np.linalg.lstsq(a[:, free], b, rcond=None)[0]
        if (found >= 0).all():
            return found
        free &= found > 0


def main():
    files = [[line.split() for line in open(name)] for name in sys.argv[1:]]
    lines = files[0][:1] + [line for file in files for line in file[1:]]
    names = lines[0][2:]
    models = [line[0] for line in lines[1:]]
    counts = np.array([float(line[1]) for line in lines[1:]])
    work = np.array([[float(x) for x in line[2:]] for line in lines[1:]])
    machine = os.path.basename(sys.argv[1]).removeprefix("work-").removesuffix(".txt")
    near = {**KNOWN, **OWN.get(machine, {})}
    known = np.array([near[name] for name in names], float)
    weight = OWN_WEIGHT.get(machine, WEIGHT)
    found = np.round(fit(work, counts, known, weight), 2)
    for name, each in zip(names, found):
        print(f"        (Work::{name}, {each}),")
    off = work @ found / counts - 1
    for at, model in enumerate(models):
        others = np.arange(len(models)) != at
        alone = work[at] @ fit(work[others], counts[others], known, weight) / counts[at] - 1
        print(f"{model}: {counts[at]:.0f} counted, {100 * off[at]:+.1f} %, by the others {100 * alone:+.1f} %")
    print(f"at most {100 * abs(off).max():.1f} %")


main()
