"""Compares what onnx_operators.json says of ONNX's operators with the definitions in the Python package onnx: the operator sets that change each operator, and which
attributes and inputs came or went.

    pip install onnx
    python dated.py
"""
import collections
import json
import os
import sys

import onnx

import operators

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'onnx_operators.json')


# The first definition that is read, where that is not the first of all.
NOT_READ = {'Scan': 9}

# What ONNX Runtime defines in ONNX's own domain: operators, and definitions of operators that ONNX defined later.
OF_RUNTIME = {'SimplifiedLayerNormalization': [1], 'LayerNormalization': [1]}


def tables():
    """The operator sets of each operator, and the rows of what came or went: operator, part, first set that has it, first that has not."""
    table = json.load(open(TABLE))
    sets = {name: numbers for name, numbers in table['operators'].items() if '.' not in name}
    return sets, {tuple(row) for row in table['dated']}, table['oldest'], table['newest']


def defined(schemas, oldest):
    """The same of the definitions of one operator that files of the oldest operator set or a newer one can mean."""
    start = max([schema.since_version for schema in schemas if schema.since_version <= oldest], default=0)
    schemas = sorted((schema for schema in schemas if schema.since_version >= start), key=lambda schema: schema.since_version)
    rows = set()
    for before, after in zip(schemas, schemas[1:]):
        name, at = after.name, after.since_version
        rows.update((name, attribute, at, None) for attribute in set(after.attributes) - set(before.attributes))
        rows.update((name, attribute, 1, at) for attribute in set(before.attributes) - set(after.attributes))
        if after.max_input > before.max_input:
            rows.add((name, f'input {before.max_input}', at, None))
        if after.max_input < before.max_input:
            rows.add((name, f'input {after.max_input}', 1, at))
        if after.max_output > before.max_output:
            rows.add((name, f'output {before.max_output}', at, None))
        if after.max_output < before.max_output:
            rows.add((name, f'output {after.max_output}', 1, at))
    return rows


def main():
    sets, dated, oldest, newest = tables()
    for name, own in OF_RUNTIME.items():
        sets[name] = [number for number in sets[name] if number not in own]
    assert set(sets) == {name for name in operators.operators() if '.' not in name}
    schemas = collections.defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == '':
            schemas[schema.name].append(schema)
    wrong = [] if newest == onnx.defs.onnx_opset_version() else [f'the newest operator set is {onnx.defs.onnx_opset_version()}, not {newest}']
    found = set()
    for name, own in sets.items():
        if not own:
            continue
        versions = sorted(schema.since_version for schema in schemas[name])
        # the last definition of Upsample says that it is no longer one
        if next(schema for schema in schemas[name] if schema.since_version == versions[-1]).deprecated:
            versions.pop()
        # which definitions no file of the oldest operator set can mean is left open
        first = NOT_READ.get(name, min(versions))
        if own != [version for version in versions if version >= own[0]] or own[0] > max(oldest, first):
            wrong.append(f'{name} is defined in {versions}, not {own}')
        found |= defined([schema for schema in schemas[name] if schema.since_version >= own[0]], oldest)
    wrong += [f'missing: {row}' for row in sorted(found - dated, key=str)] + [f'not so: {row}' for row in sorted(dated - found, key=str)]
    print('\n'.join(wrong) or f'{len(sets)} operators and {len(found)} changes are as onnx {onnx.__version__} defines them')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
