#!/usr/bin/env python3
"""Fits how many instructions each kind of work takes to what an emulator counted.

    CELLC_BLESS=1 cargo test -p cellc-tests --test instructions -- --include-ignored the_corpus
    tests/machines/fit.py FILE

FILE being work-aarch64.txt or work-cortex-m4f.txt, which the test writes into cargo's folder for what tests write (tmp below the target folder). It
prints the rows of `cellc/src/arch/arm/work.rs`, and how far the estimates are off, also of each model by the numbers that the others give.
It needs numpy."""

import sys

import numpy as np

# what is known without a fit: a number that the corpus does not tell apart stays near it
KNOWN = {
    "Step": 40, "Kernel": 20, "Kept": 1, "Loop": 3, "Iteration": 2, "Window": 1, "Branch": 3, "Load": 1, "LoadHalf": 2, "LoadByte": 2,
    "LoadBytePairs": 2, "DotPairs": 2,
    "Splat": 1, "Length": 3, "Store": 1, "Constant": 1, "MultiplyAdd": 1, "Add": 1, "Divide": 1, "Select": 2, "Flush": 3, "Bits": 1,
    "Call": 4, "Line": 4, "Neighbour": 0.5, "Element": 2,
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
    lines = [line.split() for line in open(sys.argv[1])]
    names = lines[0][2:]
    models = [line[0] for line in lines[1:]]
    counts = np.array([float(line[1]) for line in lines[1:]])
    work = np.array([[float(x) for x in line[2:]] for line in lines[1:]])
    known = np.array([KNOWN[name] for name in names])
    weight = float(sys.argv[2]) if len(sys.argv) > 2 else 0.1
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
