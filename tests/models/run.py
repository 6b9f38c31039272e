"""Runs cases through `cellc run` and compares.

    python run.py CELLC FOLDER [--emit c|rust] [--isa NAME] [--only PREFIX]

Exit status 1 if a case is refused, fails, or is out of its tolerance.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

TYPES = {'f32': '<f4', 'f64': '<f8', 'i64': '<i8', 'i32': '<i4'}


def load(folder, record):
    return np.fromfile(os.path.join(folder, record['file']), TYPES[record['dtype']]).reshape(record['shape'])


def judge(folder, case, out):
    """What is wrong with the results, or None."""
    for k, run in enumerate(case['runs']):
        for i, record in enumerate(run['oracle'] or run['openvino']):
            path = os.path.join(out, f'r{k}_out{i}.npy')
            if not os.path.exists(path):
                return f'run {k} output {i}: missing'
            ours, right, allowed = np.load(path), load(folder, record), case['tolerance'][i]['abs']
            if ours.size != right.size or ours.shape != right.shape:
                return f'run {k} output {i}: shape {ours.shape}, {right.shape} expected'
            error = np.abs(ours.astype(np.float64) - right).max(initial=0)
            if not error <= allowed:
                return f'run {k} output {i}: {error:.3g} from the oracle, {allowed:.3g} allowed'
    return None


def run(cellc, folder, options):
    with open(os.path.join(folder, 'case.json')) as file:
        case = json.load(file)
    with tempfile.TemporaryDirectory() as out:
        command = [cellc, 'run', os.path.join(folder, 'model.xml'), '--inputs', folder, '--outputs', out, *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return case, 'more than 300 s'
        if 'panicked' in done.stderr:
            return case, 'PANIC ' + done.stderr[-1500:]
        if done.returncode != 0:
            return case, f'exit {done.returncode}: ' + done.stderr[:1500]
        return case, judge(folder, case, out)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument('cellc')
    arguments.add_argument('folder')
    arguments.add_argument('--emit', default='c')
    arguments.add_argument('--isa')
    arguments.add_argument('--only', default='')
    a = arguments.parse_args()
    options = ['--emit', a.emit] + (['--isa', a.isa] if a.isa else [])
    bad, count = 0, 0
    for name in sorted(os.listdir(a.folder)):
        folder = os.path.join(a.folder, name)
        if not any(name.startswith(p) for p in a.only.split(',')) or not os.path.exists(os.path.join(folder, 'case.json')):
            continue
        count += 1
        case, problem = run(a.cellc, folder, options)
        if problem:
            bad += 1
            print(f'{name}: {problem}\n    {case["about"]}', flush=True)
    print(f'{count} cases, {bad} bad')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
