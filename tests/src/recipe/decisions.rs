//! Decisions and integers: comparisons, logic, rounding, TopK, look-up by run-time indices, sums
//! along an axis, scattered elements.
//!
//! The operands of a decision are inputs with only exact arithmetic in between, so that rounding
//! never changes a decision.

use super::choices::Choices;
use super::drawing::{Drawing, Item, integers};
use crate::model_file::Port;

impl Drawing {
    /// An input of floats, rounded to multiples of 0.5 in one of three cases, so that some are
    /// equal.
    fn deciding(&mut self, choices: &mut Choices<'_>, shape: &[usize]) -> Port {
        let port = self.parameter("f32", shape);
        match choices.one_in("halves", 3) {
            true => {
                let doubled = self.times(&port, 2.0);
                let rounded = self.file.operation(
                    "Round",
                    "opset5",
                    "mode=\"half_to_even\"",
                    &[&doubled],
                    &port.shape,
                );
                self.times(&rounded, 0.5)
            }
            false => port,
        }
    }

    fn times(&mut self, port: &Port, by: f32) -> Port {
        let by = self.number(by);
        self.file.operation("Multiply", "opset1", "", &[port, &by], &port.shape)
    }

    pub(super) fn select(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let shape = port.shape.clone();
        let a = self.deciding(choices, &shape);
        let b = match choices.below("with", 4) {
            0 => self.number(0.25),
            1 => self.deciding(choices, &shape),
            2 => self.constant(choices, &shape, 1.0),
            // only NaN is not equal to itself
            _ => a.clone(),
        };
        let kinds = ["Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"];
        let mut condition =
            self.file.operation(choices.pick("kind", &kinds), "opset1", "", &[&a, &b], &shape);
        condition = match choices.pick("logic", &["", "LogicalNot", "LogicalAnd", "LogicalOr"]) {
            "" => condition,
            "LogicalNot" => self.file.operation("LogicalNot", "opset1", "", &[&condition], &shape),
            logic => {
                let mask = self.parameter("boolean", &shape);
                self.file.operation(logic, "opset1", "", &[&condition, &mask], &shape)
            }
        };
        let other = self.item(choices);
        let otherwise = self.fit(&other.port, &shape);
        let inputs =
            if choices.one_in("swapped", 2) { [&otherwise, &port] } else { [&port, &otherwise] };
        let port = self.file.operation(
            "Select",
            "opset1",
            "",
            &[&condition, inputs[0], inputs[1]],
            &shape,
        );
        self.push(port, most.max(other.most));
    }

    pub(super) fn rounded(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let shape = port.shape.clone();
        let deciding = self.deciding(choices, &shape);
        let wide = self.times(&deciding, 4.0);
        let (kind, set, data) = choices.pick(
            "kind",
            &[
                ("Floor", "opset1", ""),
                ("Ceiling", "opset1", ""),
                ("Round", "opset5", "mode=\"half_to_even\""),
                ("Sign", "opset1", ""),
            ],
        );
        let whole = self.file.operation(kind, set, data, &[&wide], &shape);
        let both = choices.pick("then", &["Add", "Multiply", "Maximum"]);
        let port = self.file.operation(both, "opset1", "", &[&port, &whole], &shape);
        self.push(port, if both == "Multiply" { 4.0 * most } else { most + 4.0 });
    }

    /// An input of integers with arithmetic on them, as i64.
    pub(super) fn whole(&mut self, choices: &mut Choices<'_>, shape: &[usize]) -> Port {
        let element = choices.pick("element", &["i64", "i32"]);
        let mut port = self.parameter(element, shape);
        if element != "i64" {
            port = self.file.operation(
                "Convert",
                "opset1",
                "destination_type=\"i64\"",
                &[&port],
                shape,
            );
        }
        // the products of unlimited integers would exceed the integers that f32 represents
        for (kind, limit) in [("Maximum", -20), ("Minimum", 20)] {
            let limit = self.file.integers(&[], &[limit]);
            port = self.file.operation(kind, "opset1", "", &[&port, &limit], shape);
        }
        for _ in 0..choices.below("steps", 3) {
            let kinds =
                ["Add", "Subtract", "Multiply", "Maximum", "Minimum", "FloorMod", "Mod", "Divide"];
            let kind = choices.pick("kind", &kinds);
            let divides = matches!(kind, "FloorMod" | "Mod" | "Divide");
            let by = choices.pick("by", &[Some(3), Some(2), Some(7), Some(-3), None]);
            let mut other = match by {
                Some(by) => self.file.integers(&[], &[by]),
                None => self.parameter("i64", shape),
            };
            if by.is_none() {
                // a divisor is never 0
                for (kind, limit) in [("Maximum", if divides { 1 } else { -5 }), ("Minimum", 5)] {
                    let limit = self.file.integers(&[], &[limit]);
                    other = self.file.operation(kind, "opset1", "", &[&other, &limit], shape);
                }
            }
            let data = match kind {
                "Divide" => {
                    choices.pick("rounding", &["", "m_pythondiv=\"true\"", "m_pythondiv=\"false\""])
                }
                _ => "",
            };
            port = self.file.operation(kind, "opset1", data, &[&port, &other], shape);
        }
        port
    }

    fn floats_of(&mut self, port: &Port) -> Port {
        self.file.operation("Convert", "opset1", "destination_type=\"f32\"", &[port], &port.shape)
    }

    /// Integers converted to floats.
    pub(super) fn counted(&mut self, choices: &mut Choices<'_>) {
        let rank = choices.below("rank", 3);
        let shape = choices.shape("shape", rank);
        let whole = self.whole(choices, &shape);
        let port = self.floats_of(&whole);
        let port = self.times(&port, 0.125);
        self.push(port, 60.0);
    }

    /// Slices along an axis by run-time indices, which may count from the end or be out of range.
    pub(super) fn looked_up(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let axis = choices.below("axis", port.shape.len());
        let count = choices.pick("count", &[3, 1, 5]);
        let indices = self.whole(choices, &[count]);
        let mut shape = port.shape.clone();
        shape[axis] = count;
        let axis = self.file.integers(&[], &[axis as i64]);
        let port = self.file.operation("Gather", "opset8", "", &[&port, &indices, &axis], &shape);
        self.push(port, most);
    }

    /// The largest or smallest elements along an axis, their indices, and the elements of another
    /// tensor at these indices. NaN is replaced, because another test covers NaN.
    pub(super) fn best(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let deciding = self.deciding(choices, &port.shape);
        let shape = deciding.shape.clone();
        let (half, is_nan) = (
            self.number(0.5),
            self.file.operation("NotEqual", "opset1", "", &[&deciding, &deciding], &shape),
        );
        let deciding =
            self.file.operation("Select", "opset1", "", &[&is_nan, &half, &deciding], &shape);
        let axis = choices.below("axis", port.shape.len());
        let count = choices.pick("count", &[1, 2, 5]).min(port.shape[axis]);
        let mode = choices.pick("mode", &["max", "min"]);
        let mut shape = port.shape.clone();
        shape[axis] = count;
        let k = self.file.integers(&[], &[count as i64]);
        let data =
            format!("axis=\"{axis}\" mode=\"{mode}\" sort=\"value\" index_element_type=\"i64\"");
        let ports = self.file.best(&data, &deciding, &k, &shape);
        match choices.below("of_it", 3) {
            0 => {
                let data = format!("axis=\"{axis}\"");
                let others = self.file.operation(
                    "GatherElements",
                    "opset6",
                    &data,
                    &[&port, &ports[1]],
                    &shape,
                );
                self.push(others, most);
            }
            1 => {
                let places = self.floats_of(&ports[1]);
                self.push(places, port.shape[axis] as f32);
            }
            _ => {}
        }
        self.push(ports[0].clone(), 1.0);
    }

    pub(super) fn running_sum(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let axis = choices.below("axis", port.shape.len());
        let [exclusive, reverse] = ["exclusive", "reverse"].map(|name| choices.one_in(name, 2));
        let data = format!("exclusive=\"{exclusive}\" reverse=\"{reverse}\"");
        let most = most * port.shape[axis] as f32;
        let axis = self.file.integers(&[], &[axis as i64]);
        let port =
            self.file.operation("CumSum", "opset3", &data, &[&port, &axis], &port.shape.clone());
        self.push(port, most);
    }

    /// Linear attention with several elements in each operand. Its keys, rates and decays are
    /// bounded, so that its state matrices stay small.
    pub(super) fn matrices(&mut self, choices: &mut Choices<'_>, Item { port, .. }: Item) {
        let [rows, steps] = ["rows", "steps"].map(|name| choices.pick(name, &[1, 2, 3]));
        let (heads, shared) = (choices.pick("heads", &[1, 2, 3]), choices.pick("shared", &[1, 2]));
        let (key, value) =
            (choices.pick("key", &[2, 4, 1, 3]), choices.pick("value", &[3, 1, 8, 17, 40]));
        let of_keys = [rows, steps, heads, key];
        let gates = [rows, steps, heads * shared];
        let query = self.bounded(&port, &of_keys);
        let item = self.item(choices);
        let keys = self.bounded(&item.port, &of_keys);
        let item = self.item(choices);
        let values = self.bounded(&item.port, &[rows, steps, heads * shared, value]);
        let item = self.item(choices);
        let state = self.bounded(&item.port, &[rows, heads * shared, key, value]);
        let item = self.item(choices);
        let decay = self.bounded(&item.port, &gates);
        let rate = self.constant(choices, &gates, 0.5);
        let unit = choices.one_in("unit", 3);
        let data = format!("fuse_qk_l2norm=\"{unit}\"");
        let shapes = [values.shape.clone(), state.shape.clone()];
        let inputs = [&query, &keys, &values, &state, &decay, &rate];
        let ports =
            self.file.operations("GatedDeltaNet", "ie_internal_opset", &data, &inputs, &shapes);
        for port in ports {
            let port = self.plain("Tanh", &port);
            self.push(port, 1.0);
        }
    }

    /// A value of another shape, between -1 and 1.
    fn bounded(&mut self, of: &Port, shape: &[usize]) -> Port {
        let fitted = self.fit(of, shape);
        self.plain("Tanh", &fitted)
    }

    pub(super) fn one_hot(&mut self, choices: &mut Choices<'_>) {
        let count = choices.pick("count", &[3, 1, 8]);
        let indices = self.whole(choices, &[count]);
        let depth = choices.pick("depth", &[4, 1, 9]);
        let last = choices.one_in("last", 2);
        let shape = if last { [count, depth] } else { [depth, count] };
        let axis = if last { -1 } else { 0 };
        let depth = self.file.integers(&[], &[depth as i64]);
        let [on, off] = [0.75, -0.5].map(|value| self.number(value));
        let data = format!("axis=\"{axis}\"");
        let port =
            self.file.operation("OneHot", "opset1", &data, &[&indices, &depth, &on, &off], &shape);
        self.push(port, 1.0);
    }

    /// Replaces some elements of a value by elements of another value, or combines both.
    pub(super) fn scattered(&mut self, choices: &mut Choices<'_>, item: Item) {
        match choices.below("how", 5) {
            0 => self.scattered_rows(choices, item),
            1 => self.scattered_parts(choices, item),
            2 => self.scattered_along(choices, item),
            how => self.scattered_elements(choices, item, how == 3 && self.level == 0),
        }
    }

    fn scattered_rows(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let rows = port.shape[0];
        let (first, step) = (choices.below("first", rows), choices.pick("step", &[1, 2, 3]));
        let taken: Vec<usize> = (first..rows).step_by(step).rev().collect();
        let mut shape = port.shape.clone();
        shape[0] = taken.len();
        let other = self.item(choices);
        let updates = self.fit(&other.port, &shape);
        let indices = self.file.integers(&[taken.len(), 1], &integers(&taken));
        let inputs = [&port, &indices, &updates];
        let port = self.file.operation("ScatterNDUpdate", "opset3", "", &inputs, &port.shape);
        self.push(port, most.max(other.most));
    }

    /// The reduction of updates, and the magnitude of the result if `count` updates meet.
    fn reduction(
        choices: &mut Choices<'_>,
        most: f32,
        other: f32,
        count: usize,
    ) -> (&'static str, f32) {
        let reduction = choices.pick("reduction", &["none", "sum", "prod", "max", "min"]);
        let most = match reduction {
            "sum" => most + count as f32 * other,
            "prod" => most * other.powf(count as f32),
            _ => most.max(other),
        };
        (reduction, most)
    }

    /// Scatters slices of a value by their first one or two indices. Some slices may be updated
    /// twice.
    fn scattered_parts(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let depth = 1 + choices.below("depth", port.shape.len().min(2));
        let count = choices.pick("count", &[2, 1, 3]);
        let mut indices = Vec::new();
        for _ in 0..count {
            indices.extend(
                port.shape[..depth]
                    .iter()
                    .map(|&n| choices.below("index", 2 * n) as i64 - n as i64),
            );
        }
        let other = self.item(choices);
        let updates = self.fit(&other.port, &[&[count], &port.shape[depth..]].concat());
        let indices = self.file.integers(&[count, depth], &indices);
        let (reduction, most) = Self::reduction(choices, most, other.most, count);
        let data = format!("reduction=\"{reduction}\"");
        let inputs = [&port, &indices, &updates];
        let port = self.file.operation("ScatterNDUpdate", "opset15", &data, &inputs, &port.shape);
        self.push(port, most);
    }

    /// Scatters adjacent slices along an axis.
    fn scattered_along(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let axis = choices.below("axis", port.shape.len());
        let first = choices.below("first", port.shape[axis]);
        let count = 1 + choices.below("count", port.shape[axis] - first);
        let taken: Vec<usize> = (first..first + count).collect();
        let mut shape = port.shape.clone();
        shape[axis] = count;
        let other = self.item(choices);
        let updates = self.fit(&other.port, &shape);
        let (indices, axis) = (
            self.file.integers(&[count], &integers(&taken)),
            self.file.integers(&[], &[axis as i64]),
        );
        let inputs = [&port, &indices, &updates, &axis];
        let port = self.file.operation("ScatterUpdate", "opset3", "", &inputs, &port.shape);
        self.push(port, most.max(other.most));
    }

    /// Scatters elements by their indices along an axis; with run-time indices, whole slices.
    fn scattered_elements(
        &mut self,
        choices: &mut Choices<'_>,
        Item { port, most }: Item,
        at_run_time: bool,
    ) {
        let axis = choices.below("axis", port.shape.len());
        let count = choices.pick("count", &[2, 1, 3]);
        let mut shape = port.shape.clone();
        shape[axis] = count;
        let indices = if at_run_time {
            self.whole(choices, &shape)
        } else {
            for (at, size) in shape.iter_mut().enumerate() {
                if at != axis && choices.one_in("not_all", 3) {
                    *size = size.div_ceil(2);
                }
            }
            let size = port.shape[axis];
            let first = choices.below("index", 2 * size);
            let index = |k: usize| ((first + k * k) % (2 * size)) as i64 - size as i64;
            self.file.integers(&shape, &(0..shape.iter().product()).map(index).collect::<Vec<_>>())
        };
        let other = self.item(choices);
        let updates = self.fit(&other.port, &shape);
        let negative = if choices.one_in("negative", 2) { port.shape.len() as i64 } else { 0 };
        let axis = self.file.integers(&[], &[axis as i64 - negative]);
        let (set, data, most) = match choices.one_in("opset3", 3) {
            true => ("opset3", String::new(), most.max(other.most)),
            false => {
                let (reduction, most) = Self::reduction(choices, most, other.most, count);
                ("opset12", format!("reduction=\"{reduction}\" use_init_val=\"true\""), most)
            }
        };
        let inputs = [&port, &indices, &updates, &axis];
        let port = self.file.operation("ScatterElementsUpdate", set, &data, &inputs, &port.shape);
        self.push(port, most);
    }
}
