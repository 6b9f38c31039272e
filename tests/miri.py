"""Prints a program that calls step of the generated Rust file of its argument, twice."""

import re
import sys

text = open(sys.argv[1]).read()


def value(ty):
    """Some value of a type."""
    ty = ty.strip()
    array = re.match(r"\[(.*); (\d+)\]$", ty)
    if array:
        return f"[{value(array[1])}; {array[2]}]"
    return {"f32": "0.25", "bool": "true"}.get(ty, "1")


def arguments():
    """The arguments of step."""
    parameters = re.search(r"pub fn step\(\s*&mut self,?\s*(.*?)\)[^(]*\{", text, re.S)[1]
    for parameter in re.split(r",\s*(?=\w+:)", parameters.strip().rstrip(",")):
        ty = parameter.split(":", 1)[1].strip()
        if ty == "&mut Outputs":
            yield "&mut subject::Outputs::new()"
        elif "Inputs" in ty:
            name = re.search(r"\w*Inputs", ty)[0]
            fields = re.search(rf"pub struct {name}<'a> \{{(.*?)\n\}}", text, re.S)[1]
            fields = re.findall(r"pub (\w+): &'a (.*),", fields)
            yield f"&subject::{name} {{ {', '.join(f'{name}: &{value(ty)}' for name, ty in fields)} }}"
        elif ty.startswith("&mut "):
            yield f"&mut {value(ty[5:])}"
        else:
            yield f"&{value(ty[1:])}"


print("#![allow(warnings)]\nmod subject;\nfn main() {\n    let mut net = subject::Subject::new();")
for _ in range(2):
    print(f"    net.step({', '.join(arguments())});")
print("}")
