"""Results of random graphs by the oracle, as projections: `graphs.py FOLDER` reads FOLDER/K/{model.xml,model.bin,calls.json} for K = 0, 1, ...

`cargo test -p cellc-tests --test reference` writes the folder and keeps what this prints: a line for each call of each graph, the results of the call
in order, each as PROJECTIONS sums of all its elements with weights that depend on the element's place.
"""
import json
import os
import sys

import numpy as np

from oracle import Model

PROJECTIONS = 2


def weights(which, count):
    """From -1 to 1, as `weight` in tests/tests/reference.rs: SplitMix64 of the place."""
    with np.errstate(over='ignore'):
        z = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(which << 32)) * np.uint64(0x9e3779b97f4a7c15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(40)).astype(np.float64) / 2.0**23 - 1


def main():
    np.seterr(all='ignore')
    folder = sys.argv[1]
    for k in sorted(map(int, os.listdir(folder))):
        case = os.path.join(folder, str(k))
        with open(os.path.join(case, 'calls.json')) as file:
            calls = json.load(file)
        tensor = lambda t: np.array(t['values'], np.int64 if t['integer'] else np.float32).reshape(t['shape'])
        runs = [[tensor(t) for t in call] for call in calls]
        model = Model(os.path.join(case, 'model.xml'), os.path.join(case, 'model.bin'))
        for call, results in enumerate(model.runs(runs, True)):
            flat = [np.ravel(result) for result in results]
            sums = [f'{weights(which, len(v)) @ v:.13g}' for v in flat for which in range(PROJECTIONS)]
            print(k, call, *sums)


main()
