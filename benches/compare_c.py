#!/usr/bin/env python3
"""Time of a step of one generated C file over that of another of the same model.

usage: compare_c.py NEW.c OLD.c [--compiler gcc clang] [--rounds 400] [--steps 200]

Both files, with their headers, are compiled with -O2 and called in turns in one program. For each
instruction set that both files and this machine have, the smallest time of a round is divided by
that of the other file. The prefixes of the two files must differ.
"""

import argparse
import pathlib
import re
import subprocess
import tempfile


class File:
    """A generated file: its prefix, the arrays of its step and its instruction sets."""

    def __init__(self, path):
        self.path = pathlib.Path(path).resolve()
        self.prefix = self.path.stem
        header = self.path.with_suffix(".h").read_text()
        step = re.search(rf"void {self.prefix}_step\((.*?)\);", header, re.S).group(1)
        self.arrays = []
        for parameter in step.split(",")[1:]:
            name = re.search(r"(\w+)\s*$", parameter).group(1)
            size = re.search(rf"#define {self.prefix.upper()}_{name.upper()}_SIZE (\d+)", header).group(1)
            self.arrays.append((f"{self.prefix}_{name}_array", int(size), "const" in parameter))
        self.isas = re.findall(rf"\b{self.prefix.upper()}_ISA_(\w+)", header)

    def declared(self):
        """Includes the header, and declares a struct and all arrays."""
        arrays = "".join(f"static float {name}[{size}];\n" for name, size, _ in self.arrays)
        return f'#include "{self.path.with_suffix(".h")}"\nstatic {self.prefix} {self.prefix}_net;\n{arrays}'

    def filled(self):
        """Fills the inputs."""
        value = "0.01f * (float)(i % 37) - 0.2f"
        fill = "    for (int i = 0; i < {1}; i++) {0}[i] = {2};\n"
        return "".join(fill.format(name, size, value) for name, size, is_input in self.arrays if is_input)

    def timed(self, isa, place):
        """Makes STEPS steps, and keeps the time if it is the smallest."""
        arguments = ", ".join([f"&{self.prefix}_net", *(name for name, *_ in self.arrays)])
        return (
            f"            {self.prefix}_init_isa(&{self.prefix}_net, {self.prefix.upper()}_ISA_{isa});\n"
            f"            t = now();\n"
            f"            for (int i = 0; i < STEPS; i++) {self.prefix}_step({arguments});\n"
            f"            t = now() - t;\n"
            f"            if (t < best[{place}]) best[{place}] = t;\n"
        )


def program(new, old):
    """The program that calls both."""
    isas = [isa for isa in dict.fromkeys(new.isas) if isa in old.isas]
    body = "".join(
        f"    if ({new.prefix}_isa_available({new.prefix.upper()}_ISA_{isa})) {{\n"
        f"        double best[2] = {{1e18, 1e18}};\n"
        f"        for (int round = 0; round < ROUNDS; round++) {{\n            double t;\n"
        f"{new.timed(isa, 0)}{old.timed(isa, 1)}        }}\n"
        f'        printf("{isa.lower()} %.3f  ", best[0] / best[1]);\n    }}\n'
        for isa in isas
    )
    return (
        f"#include <stdio.h>\n#include <time.h>\n{new.declared()}{old.declared()}"
        "static double now(void) {\n    struct timespec t;\n    clock_gettime(CLOCK_MONOTONIC, &t);\n"
        "    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;\n}\n\n"
        f'int main(void) {{\n{new.filled()}{old.filled()}{body}    puts("");\n    return 0;\n}}\n'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("new")
    parser.add_argument("old")
    parser.add_argument("--compiler", nargs="+", default=["gcc", "clang"])
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()
    files = [File(arguments.new), File(arguments.old)]
    for compiler in arguments.compiler:
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "compare.c")
            source.write_text(program(*files))
            counts = [f"-DROUNDS={arguments.rounds}", f"-DSTEPS={arguments.steps}"]
            sources = [str(source), *(str(file.path) for file in files)]
            subprocess.run([compiler, "-O2", *counts, *sources, "-o", f"{folder}/compare"], check=True)
            print(f"{compiler}:", subprocess.run([f"{folder}/compare"], check=True, capture_output=True, text=True).stdout.strip())


if __name__ == "__main__":
    main()
