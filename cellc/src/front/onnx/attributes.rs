//! The attributes of a node. Each attribute is taken once, by name and type; an attribute left over
//! is an error.

use super::proto::{AttributeProto, GraphProto, SparseTensorProto, TensorProto};
use crate::diagnostic::{Problem, quoted};
use crate::model::WrongAttribute;

/// The help for a wrong attribute.
const HELP: &str = "correct the attribute, or export the model again";

/// The attributes not taken yet. The methods that take an attribute return `None` if the attribute
/// is missing or, after a problem, if its value is wrong.
pub(super) struct Attributes {
    operator: &'static str,
    left: Vec<AttributeProto>,
    /// Problems found.
    pub(super) problems: Vec<Problem>,
}

/// A type of attribute in words.
fn type_name(number: i32) -> &'static str {
    match number {
        1 => "a float",
        2 => "an integer",
        3 => "a text",
        4 => "a tensor",
        5 => "a graph",
        6 => "floats",
        7 => "integers",
        8 => "texts",
        9 => "tensors",
        10 => "graphs",
        11 => "a sparse tensor",
        _ => "of a type that is not read",
    }
}

/// The type of an attribute. Files of the first IR versions do not state the type, but the field
/// with the value tells it. 0: no such field, as for an empty list.
fn type_of(attribute: &AttributeProto) -> i32 {
    match attribute.r#type {
        Some(number) if number != 0 => number,
        _ => {
            let held = [
                attribute.f.is_some(),
                attribute.i.is_some(),
                attribute.s.is_some(),
                attribute.t.is_some(),
                attribute.g.is_some(),
                !attribute.floats.is_empty(),
                !attribute.ints.is_empty(),
                !attribute.strings.is_empty(),
                !attribute.tensors.is_empty(),
                !attribute.graphs.is_empty(),
                attribute.sparse_tensor.is_some(),
            ];
            held.iter().position(|&held| held).map_or(0, |at| at as i32 + 1)
        }
    }
}

impl Attributes {
    /// The attributes of a node. Attributes given twice are problems.
    pub(super) fn new(operator: &'static str, attributes: Vec<AttributeProto>) -> Self {
        let mut problems = Vec::new();
        let mut names: Vec<&str> =
            attributes.iter().map(|a| a.name.as_deref().unwrap_or_default()).collect();
        names.sort_unstable();
        for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
            let found = format!("the attribute {} is given twice", quoted(pair[0]));
            problems.push(Problem::new(found, "each attribute once", HELP));
        }
        Self { operator, left: attributes, problems }
    }

    /// True if the node has the attribute and it was not taken yet.
    pub(super) fn has(&self, name: &str) -> bool {
        self.left.iter().any(|a| a.name.as_deref() == Some(name))
    }

    /// Takes an attribute of one of the given types. `None` if it is absent or, after an error, of
    /// another type.
    fn take(&mut self, name: &str, types: &[i32]) -> Option<AttributeProto> {
        let at = self.left.iter().position(|a| a.name.as_deref() == Some(name))?;
        let attribute = self.left.swap_remove(at);
        let found = type_of(&attribute);
        // an empty list without a stated type fits every type of list
        if types.contains(&found) || found == 0 && types.iter().all(|t| *t > 5) {
            return Some(attribute);
        }
        let valid = types.iter().map(|&t| type_name(t)).collect::<Vec<_>>().join(" or ");
        let found = format!("the attribute {name} is {}", type_name(found));
        self.problems.push(Problem::new(found, valid, HELP));
        None
    }

    /// Takes an integer.
    pub(super) fn int(&mut self, name: &str) -> Option<i64> {
        // a typed attribute without a value is 0
        self.take(name, &[2]).map(|a| a.i.unwrap_or(0))
    }

    /// Takes an integer as a condition: 0 is false. `default` if the attribute is missing.
    pub(super) fn flag(&mut self, name: &str, default: bool) -> bool {
        match self.int(name) {
            None => default,
            Some(value) => value != 0,
        }
    }

    /// Takes a floating-point number.
    pub(super) fn float(&mut self, name: &str) -> Option<f32> {
        self.take(name, &[1]).map(|a| a.f.unwrap_or(0.0))
    }

    /// Takes a finite floating-point number that becomes a constant of the model. NaN and infinity
    /// are problems. Numbers that become attributes of an operation are checked with the operation.
    pub(super) fn finite(&mut self, name: &'static str) -> Option<f32> {
        self.float(name).filter(|&number| self.is_finite(name, number))
    }

    /// As [`Self::finite`], for a list.
    pub(super) fn finite_list(&mut self, name: &'static str) -> Option<Vec<f32>> {
        let list = self.floats(name)?;
        list.iter().all(|&number| self.is_finite(name, number)).then_some(list)
    }

    fn is_finite(&mut self, name: &'static str, number: f32) -> bool {
        let wrong = WrongAttribute::not_finite(self.operator, name, number);
        let problem = wrong.map(|wrong| Problem { help: HELP.into(), ..wrong.problem });
        self.problems.extend(problem);
        number.is_finite()
    }

    /// Takes a list of integers.
    pub(super) fn ints(&mut self, name: &str) -> Option<Vec<i64>> {
        self.take(name, &[7]).map(|a| a.ints)
    }

    /// Takes a list of floating-point numbers.
    pub(super) fn floats(&mut self, name: &str) -> Option<Vec<f32>> {
        self.take(name, &[6]).map(|a| a.floats)
    }

    /// Takes a text.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let bytes = self.take(name, &[3])?.s.unwrap_or_default();
        match String::from_utf8(bytes) {
            Ok(text) => Some(text),
            Err(_) => {
                let found = format!("the attribute {name} is no text");
                self.problems.push(Problem::new(found, "UTF-8", HELP));
                None
            }
        }
    }

    /// Takes a list of texts.
    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        let texts = self.take(name, &[8])?.strings;
        let texts: Result<Vec<String>, _> = texts.into_iter().map(String::from_utf8).collect();
        if texts.is_err() {
            let found = format!("the attribute {name} is no list of texts");
            self.problems.push(Problem::new(found, "UTF-8", HELP));
        }
        texts.ok()
    }

    /// Takes a tensor.
    pub(super) fn tensor(&mut self, name: &str) -> Option<TensorProto> {
        self.take(name, &[4])?.t
    }

    /// Takes a sparse tensor.
    pub(super) fn sparse(&mut self, name: &str) -> Option<SparseTensorProto> {
        self.take(name, &[11])?.sparse_tensor
    }

    /// Takes a graph.
    pub(super) fn graph(&mut self, name: &str) -> Option<GraphProto> {
        self.take(name, &[5])?.g
    }

    /// Drops an attribute without influence on the result.
    pub(super) fn ignore(&mut self, name: &str) {
        self.left.retain(|a| a.name.as_deref() != Some(name));
    }

    /// The names of the attributes not taken.
    pub(super) fn rest(&self) -> Vec<String> {
        self.left.iter().map(|a| a.name.clone().unwrap_or_default()).collect()
    }
}
