"""Prints a program that calls step of the generated Rust file of its argument, twice, and prints
the outputs."""

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


def fields(name, ty):
    """The fields of a struct with their types."""
    body = re.search(rf"pub struct {name}[^{{]*\{{(.*?)\n\}}", text, re.S)[1]
    return re.findall(rf"pub (\w+): {ty}(.*),", body)


def arguments():
    """The arguments of step, each with the expressions of the outputs in it."""
    parameters = re.search(r"pub fn step\(\s*&mut self,?\s*(.*?)\)[^(]*\{", text, re.S)[1]
    for at, parameter in enumerate(re.split(r",\s*(?=\w+:)", parameters.strip().rstrip(","))):
        ty = parameter.split(":", 1)[1].strip()
        if ty == "&mut Outputs":
            yield "subject::Outputs::new()", [f"a{at}.{name}" for name, _ in fields("Outputs", "")]
        elif "Inputs" in ty:
            name = re.search(r"\w*Inputs", ty)[0]
            given = ", ".join(f"{field}: &{value(ty)}" for field, ty in fields(name, "&'a "))
            yield f"subject::{name} {{ {given} }}", []
        elif ty.startswith("&mut "):
            yield value(ty[5:]), [f"a{at}"]
        else:
            yield value(ty[1:]), []


print("#![allow(warnings)]\nmod subject;\nfn main() {\n    let mut net = subject::Subject::new();")
found = list(arguments())
for at, (argument, _) in enumerate(found):
    print(f"    let mut a{at} = {argument};")
for _ in range(2):
    print(f"    net.step({', '.join(f'&mut a{at}' for at in range(len(found)))});")
    for _, outputs in found:
        for output in outputs:
            print(f'    println!("{{:?}}", {output});')
print("}")
