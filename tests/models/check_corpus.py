"""Computes the references of corpus cases anew with the oracle, and compares.

    python check_corpus.py FOLDER

Exit status 1 if a number differs by more than 1e-12 of the larger of 1 and the reference.
"""
import json
import os
import sys

import numpy as np

from oracle import Model
from run import load


def difference(folder):
    with open(os.path.join(folder, 'case.json')) as file:
        case = json.load(file)
    model = Model(os.path.join(folder, 'model.xml'), os.path.join(folder, 'model.bin'))
    results = model.runs([[load(folder, record) for record in run['inputs']] for run in case['runs']], case['stateful'])
    worst = 0
    for run, computed in zip(case['runs'], results):
        assert len(run['oracle']) == len(computed), 'another number of outputs'
        for record, ours in zip(run['oracle'], computed):
            stored = load(folder, record)
            assert stored.shape == ours.shape, f'the shape is {ours.shape}, {stored.shape} is stored'
            worst = max(worst, (np.abs(ours - stored) / np.maximum(1, np.abs(stored))).max(initial=0))
    return worst


def main():
    worst = 0
    for name in sorted(os.listdir(sys.argv[1])):
        found = difference(os.path.join(sys.argv[1], name))
        print(f'{name}: {found:.1e}')
        worst = max(worst, found)
    print(f'the largest difference is {worst:.1e}')
    return int(worst > 1e-12)


if __name__ == '__main__':
    sys.exit(main())
