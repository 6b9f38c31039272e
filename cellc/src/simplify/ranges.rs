//! Range: numbers whose count is known when compiling, or by a call within a bound.

use super::dynamic_lengths::COUNT_ALL;
use super::translator::Translator;
use crate::check::report::UNDEFINED;
use crate::core::limits::MOST_ELEMENTS;
use crate::core::{Divider, DynamicLength, Geometry, Known, LARGEST_INTEGER, fold};
use crate::diagnostic::quoted;
use crate::model::{ElementType, Elementwise as E, Node, Tensor};

impl Translator<'_, '_> {
    pub(super) fn range(&mut self, node: &Node) {
        let number = |known: Known| {
            let one = |tensor: &&Tensor| known.element().is_float() && tensor.len() == 1;
            known.tensor().filter(one).map(|tensor| tensor.get_f64(0))
        };
        let numbers = self
            .inputs(node)
            .and_then(|all| all.into_iter().map(number).collect::<Option<Vec<f64>>>());
        if let Some(&[start, stop, step]) = numbers.as_deref() {
            self.range_of_numbers(node, start, stop, step);
            return;
        }
        let ends = [(0, "the start"), (1, "the stop"), (2, "the step")];
        let is_open =
            |&(port, _): &(usize, _)| matches!(self.input(node, port), Some(Known::Source(..)));
        if let Some((_, what)) =
            ends.into_iter().find(is_open).filter(|_| node.kind.starts_with("Range"))
        {
            self.range_of_run_time(node, what);
            return;
        }
        let [start, stop, step] = ends.map(|(port, what)| self.integer(node, port, what));
        let (Some(start), Some(stop), Some(step)) = (start, stop, step) else { return };
        if step == 0 {
            self.error(node, &node.origin, "a step of 0", "any other", "correct the step");
            return;
        }
        let span = if step > 0 {
            i128::from(stop) - i128::from(start)
        } else {
            i128::from(start) - i128::from(stop)
        };
        let step_size = i128::from(step).abs();
        let count =
            usize::try_from((span.max(0) + step_size - 1) / step_size).unwrap_or(usize::MAX);
        let stated = self.model.values[node.outputs[0].0].element;
        let element = if stated == ElementType::I32 { stated } else { ElementType::I64 };
        if self.foldable(node, &[count], element).is_none() {
            return;
        }
        match fold::range(start, step, count, element) {
            Ok(tensor) => self.set(node, 0, Known::Constant(tensor, element)),
            Err(reason) => {
                self.error(node, &node.origin, reason, "an operation that has a result", UNDEFINED)
            }
        }
    }

    /// A Range with a run-time length, at most the largest limit. A mask from the Range would be
    /// broadcast for the length 1 and fit no tensor for other lengths below the steps.
    fn range_of_run_time(&mut self, node: &Node, what: &str) {
        if let Some((start, step, most)) = self.most_of_range(node, what) {
            if self.foldable(node, &[most], ElementType::I64).is_some()
                && let Some((known, length)) = self.open_range(node, start, step, most)
            {
                self.current_length = Some(length);
                self.set(node, 0, known);
            }
            return;
        }
        let port = if what == "the start" { 0 } else { usize::from(what != "the stop") + 1 };
        let names = &self.model.values[node.inputs[port].0].names;
        let limit = names.first().map_or(String::new(), |name| format!(", {},", quoted(name)));
        let found =
            format!("{what} of Range{limit} is computed at run time: it says the size of a tensor");
        let valid = "a start and a step that are known when compiling, and a stop that is known, \
            a size of an input, or at most a constant, by Clip or Min before it";
        self.error(node, &node.origin, found, valid, COUNT_ALL);
    }

    /// Start, step and largest length of a Range of integers with a computed stop; `None` without a
    /// limit for the stop.
    fn most_of_range(&mut self, node: &Node, what: &str) -> Option<(i64, i64, usize)> {
        let known = |port: usize| match self.input(node, port) {
            Some(Known::Constant(tensor, element)) if !element.is_float() && tensor.len() == 1 => {
                tensor.get_i64(0)
            }
            _ => None,
        };
        let (start, step) = (known(0)?, known(2).filter(|&step| step != 0)?);
        let stop =
            self.input(node, 1).filter(|stop| what == "the stop" && !stop.element().is_float())?;
        let [least, largest] = self.core.facts.range_of(&stop);
        let last = if step > 0 { largest } else { least };
        // a number without a limit may be the largest integer
        if self.shape_of(&stop).iter().any(|&size| size != 1)
            || last.abs() >= f64::from(LARGEST_INTEGER - 1)
        {
            return None;
        }
        let most = ((last - start as f64) / step as f64).ceil();
        (1.0..=MOST_ELEMENTS as f64).contains(&most).then_some((start, step, most as usize))
    }

    /// A tensor of the largest number of elements, with zeros behind the existing elements.
    fn open_range(
        &mut self,
        node: &Node,
        start: i64,
        step: i64,
        most: usize,
    ) -> Option<(Known, DynamicLength)> {
        let number = |value: i64| {
            Some(Known::Constant(Tensor::from_i64(Vec::new(), &[value])?, ElementType::I64))
        };
        let stop = self.input(node, 1)?;
        let stop = self.view(node, &stop, Geometry::reshaped(Vec::new()))?;
        let stop = self.converted(node, &stop, ElementType::I64)?;
        let ends = if step > 0 { vec![stop, number(start)?] } else { vec![number(start)?, stop] };
        let span = self.computed(node, E::Subtract, ends)?;
        let mut count = self.computed(node, E::Maximum, vec![span, number(0)?])?;
        if step.abs() > 1 {
            count = self.computed(node, E::Add, vec![count, number(step.abs() - 1)?])?;
            count = self.computed(node, E::Divide, vec![count, number(step.abs())?])?;
        }
        let stated = self.model.values[node.outputs[0].0].element;
        let element = if stated == ElementType::I32 { stated } else { ElementType::I64 };
        let numbers = fold::range(start, step, most, element).ok()?;
        let numbers = Known::Constant(numbers, element);
        let length = DynamicLength {
            count: self.source(&count)?,
            by: Divider::Range,
            is_zero: true,
            truncated: None,
            parts_along: Some(0),
        };
        let zero = Known::Constant(Tensor::from_i64(Vec::new(), &[0])?, element);
        Some((self.padded_behind(node, &numbers, length, &zero)?, length))
    }

    /// A constant Range. A Range without elements is refused.
    fn range_of_numbers(&mut self, node: &Node, start: f64, stop: f64, step: f64) {
        let count = ((stop - start) / step).ceil();
        if !(1.0..=MOST_ELEMENTS as f64).contains(&count) {
            let found = format!("numbers from {start} to {stop} in steps of {step}");
            let valid = format!("1 to {MOST_ELEMENTS} numbers");
            self.error(node, &node.origin, found, valid, "correct the start, the stop or the step");
            return;
        }
        let element = self.model.values[node.outputs[0].0].element;
        let count = count as usize;
        if self.foldable(node, &[count], element).is_none() {
            return;
        }
        let numbers: Vec<f32> = (0..count).map(|k| (start + k as f64 * step) as f32).collect();
        if let Some(tensor) = Tensor::from_f32(vec![count], &numbers) {
            self.set(node, 0, Known::Constant(tensor, element));
        }
    }
}
