//! The attributes of recurrent cells and sequences.

use super::attributes::{Data, GivenAttribute};
use super::kinds::LayerType;
use super::layers::GraphReader;
use super::text::{cut, parse_integer};
use crate::diagnostic::{Origin, Problem, message, quoted};
use crate::model::{
    Activation, ActivationError, Cell, Coupled, Direction, Family, LedgerEntry, LstmGateOrder,
    PARAMETERS, ResetGate, WeightLayout, parse_f32, unknown_activations,
};

impl GraphReader<'_, '_> {
    /// The cell, the direction and the ledger of a recurrent layer, by the definition of the
    /// operation set `data.set`. `None` after an error.
    pub(super) fn cell(&mut self, data: &mut Data) -> Option<(Cell, Direction, Vec<LedgerEntry>)> {
        let mut ledger = Ledger::default();

        let [valid, help] = Cell::valid_hidden_size();
        let hidden_size = self.required(data, "hidden_size", &valid).and_then(|given| {
            let size = parse_integer(given.text).and_then(|n| usize::try_from(n).ok());
            match size {
                Some(size) => ledger.add("hidden_size", Some(&given), size.to_string()),
                None => {
                    let found = format!("hidden_size={}", quoted(given.text));
                    self.error(data.index, given.origin, found, valid, &help);
                }
            }
            size
        });

        let (family, is_sequence) = match self.layers[data.index].kind {
            LayerType::Sequence(family) => (family, true),
            LayerType::Cell(family) => (family, false),
            _ => return None,
        };
        let reset = if family.has_reset_gate() {
            self.linear_before_reset(data, &mut ledger)
        } else {
            Some(ResetGate::BeforeMatMul)
        };
        let kind = reset.map(|reset| family.kind(reset));
        let defaults = family.default_activations();
        let activations = self.activations(data, defaults, &mut ledger);

        let clip = self.clip(data, &mut ledger);
        let direction =
            if is_sequence { self.direction(data, &mut ledger) } else { Some(Direction::Forward) };
        let activations = match activations.split_at_checked(defaults.len()) {
            // the second half of the list, for the reverse direction, repeats the first: one half
            // is kept
            Some((forward, reverse))
                if direction == Some(Direction::Bidirectional) && forward == reverse =>
            {
                forward.to_vec()
            }
            _ => activations,
        };
        let (gate_order, coupled) = match family {
            Family::Lstm if data.set < 4 => {
                (self.weights_format(data, &mut ledger), self.input_forget(data, &mut ledger))
            }
            _ => (Some(LstmGateOrder::default()), Some(false)),
        };
        let (kind, direction, gate_order, coupled) = (kind?, direction?, gate_order?, coupled?);
        // an LSTMCell with peepholes has the inputs x, h, c, W, R, B and P
        let peepholes =
            family == Family::Lstm && data.set < 4 && self.port_ids(data.index, "input").len() == 7;
        let bias_required =
            !is_sequence && (family == Family::Rnn || family == Family::Lstm && data.set >= 4);
        let cell = Cell {
            activations,
            clip,
            layout: WeightLayout::new(kind, gate_order),
            coupled: coupled.then_some(Coupled::Input),
            bias_required,
            peepholes,
            ..Cell::new(kind, hidden_size?)
        };
        Some((cell, direction, ledger.0))
    }

    fn direction(&mut self, data: &mut Data, ledger: &mut Ledger) -> Option<Direction> {
        let words = Direction::ALL.map(|direction| (direction.name(), direction));
        let direction = self.word(data, "direction", Direction::Forward.name(), &words)?;
        let given = self.given(data, "direction");
        let default = if given.is_none() { ", the default" } else { "" };
        ledger.add("direction", given.as_ref(), format!("{}{default}", direction.name()));
        Some(direction)
    }

    fn weights_format(&mut self, data: &mut Data, ledger: &mut Ledger) -> Option<LstmGateOrder> {
        let words = LstmGateOrder::ALL.map(|order| (order.name(), order));
        let order = self.word(data, "weights_format", LstmGateOrder::default().name(), &words)?;
        let given = self.given(data, "weights_format");
        let default = if given.is_none() { ", the default" } else { "" };
        ledger.add("weights_format", given.as_ref(), format!("{}{default}", order.name()));
        Some(order)
    }

    fn input_forget(&mut self, data: &mut Data, ledger: &mut Ledger) -> Option<bool> {
        let coupled = self.boolean(data, "input_forget", Some(false))?;
        let given = self.given(data, "input_forget");
        let taken = match (coupled, &given) {
            (true, _) => "true: i = 1 - f",
            (false, Some(_)) => "false: i has weights of its own",
            (false, None) => "false, the default: i has weights of its own",
        };
        ledger.add("input_forget", given.as_ref(), taken.to_owned());
        Some(coupled)
    }

    fn clip(&mut self, data: &mut Data, ledger: &mut Ledger) -> Option<f32> {
        let given = data.take(self.document, "clip");
        let number = match &given {
            None => None,
            Some(given) => match parse_f32(given.text) {
                Ok(number) => Some(number),
                Err(problem) => {
                    let found = format!("clip={} is {problem}", quoted(given.text));
                    let valid = "a number, with a point where it has a fraction; 0, negative, inf \
                        and nan: no clipping";
                    let help = "correct the number, or remove the attribute for no clipping";
                    self.error(data.index, given.origin.clone(), found, valid, help);
                    return None;
                }
            },
        };
        ledger.add("clip", given.as_ref(), Cell::clip_text(number));
        number
    }

    fn linear_before_reset(&mut self, data: &mut Data, ledger: &mut Ledger) -> Option<ResetGate> {
        let given = data.take(self.document, "linear_before_reset");
        // spaces are not trimmed: OpenVINO would ignore such a text
        let text = given.as_ref().map(|given| given.text.to_ascii_lowercase());
        let (reset, taken) = match text.as_deref() {
            Some("true" | "1") => {
                (ResetGate::AfterMatMul, "true: the reset gate is after the matrix product")
            }
            Some("false" | "0") => {
                (ResetGate::BeforeMatMul, "false: the reset gate is before the matrix product")
            }
            None => (
                ResetGate::BeforeMatMul,
                "false, the default: the reset gate is before the matrix product",
            ),
            Some(_) => {
                if let Some(given) = given {
                    let found =
                        format!("linear_before_reset={} is not a truth value", quoted(given.text));
                    self.error(
                        data.index,
                        given.origin,
                        found,
                        "true, false, 1, 0",
                        "write one of these",
                    );
                }
                return None;
            }
        };
        ledger.add("linear_before_reset", given.as_ref(), taken.to_owned());
        Some(reset)
    }

    /// The activations in `activations`, each with the numbers at the same position of
    /// `activations_alpha` and `activations_beta`. The defaults after an error.
    fn activations(
        &mut self,
        data: &mut Data,
        defaults: &[Activation],
        ledger: &mut Ledger,
    ) -> Vec<Activation> {
        let given = data.take(self.document, "activations");
        let names: Option<Vec<&str>> = match &given {
            None => Some(defaults.iter().map(|a| a.name()).collect()),
            Some(given) => self.activation_names(data.index, given),
        };
        let parameters = PARAMETERS.map(|parameter| {
            let attribute = format!("activations_{parameter}");
            let given = data.take(self.document, &attribute);
            let numbers = match &given {
                None => Some(Vec::new()),
                Some(given) => self.activation_numbers(data.index, &attribute, given),
            };
            (attribute, given, numbers)
        });
        // a list of numbers that is `None` was refused with an error
        let [(alpha, alpha_given, Some(alphas)), (beta, beta_given, Some(betas))] = parameters
        else {
            return defaults.to_vec();
        };
        let Some(names) = names else { return defaults.to_vec() };
        let parameters = [(alpha, alpha_given, alphas), (beta, beta_given, betas)];
        let activations: Option<Vec<Activation>> = (0..names.len())
            .map(|at| self.activation(data.index, &names, at, given.as_ref(), &parameters))
            .collect();
        let Some(activations) = activations else { return defaults.to_vec() };

        let labels: Vec<String> = activations.iter().map(|a| a.label()).collect();
        let default = if given.is_none() { ", the default" } else { "" };
        ledger.add("activations", given.as_ref(), format!("{}{default}", cut(&labels.join(", "))));
        for (parameter, (attribute, given, numbers)) in parameters.iter().enumerate() {
            if let Some(given) = given {
                self.surplus_numbers(data.index, attribute, given, (numbers.len(), &names));
            }
            let taken =
                self.taken_numbers(data.index, parameter, &activations, &parameters[parameter]);
            ledger.add(attribute, given.as_ref(), taken);
        }
        activations
    }

    /// Refuses more numbers than activations.
    fn surplus_numbers(
        &mut self,
        index: usize,
        attribute: &str,
        given: &GivenAttribute<'_>,
        (count, names): (usize, &[&str]),
    ) {
        if count > names.len() {
            let found =
                format!("{attribute} holds {count} numbers, but there are {}", counted(names));
            let valid =
                format!("{} or fewer numbers: one for each activation, by position", names.len());
            let help = "remove what belongs to no activation";
            self.error(index, given.origin.clone(), found, valid, help);
        }
    }

    /// The numbers of a parameter that activations take, as text for the ledger. `parameter`: 0 for
    /// alpha, 1 for beta. Warns of numbers that activations do not take.
    fn taken_numbers(
        &mut self,
        index: usize,
        parameter: usize,
        activations: &[Activation],
        (attribute, given, numbers): &(String, Option<GivenAttribute<'_>>, Vec<f32>),
    ) -> String {
        let (with, without): (Vec<_>, Vec<_>) = std::iter::zip(activations, numbers)
            .map(|(activation, number)| (activation.name(), number))
            .partition(|(name, _)| Activation::takes(name).is_some_and(|takes| takes > parameter));
        if let Some(given) = given.as_ref().filter(|_| !without.is_empty()) {
            let named = |name: &&str| without.iter().any(|(other, _)| other == name);
            let names: Vec<&str> = Activation::NAMES.into_iter().filter(named).collect();
            let found = format!(
                "{attribute} has no effect on {}: numbers belong to activations by position",
                names.join(" and ")
            );
            self.warning(index, given.origin.clone(), found);
        }
        let taken: Vec<String> =
            with.iter().map(|(name, number)| format!("{number:?} for {name}")).collect();
        match (&taken[..], &without[..]) {
            ([], []) => "none".to_owned(),
            ([], _) => "no effect".to_owned(),
            (taken, _) => taken.join(", "),
        }
    }

    /// The activation at a position of the list. `None` after an error.
    fn activation(
        &mut self,
        index: usize,
        names: &[&str],
        at: usize,
        given: Option<&GivenAttribute<'_>>,
        parameters: &[(String, Option<GivenAttribute<'_>>, Vec<f32>); 2],
    ) -> Option<Activation> {
        let name = names[at];
        let takes = Activation::takes(name).unwrap_or_default();
        let number = |parameter: usize| {
            parameters[parameter].2.get(at).copied().filter(|_| parameter < takes)
        };
        let error = match Activation::new(name, number(0), number(1)) {
            Ok(activation) => return Some(activation),
            Err(error) => error,
        };
        let wrong = match &error {
            ActivationError::Missing(parameter) => {
                PARAMETERS.iter().position(|p| p == parameter).unwrap_or_default()
            }
            _ => 0,
        };
        let (attribute, numbers, _) = &parameters[wrong];
        let origin = numbers
            .as_ref()
            .or(given)
            .map_or(self.document.origin(self.layers[index].element), |g| g.origin.clone());
        let found = format!("activation {} of the list, {}: {error}", at + 1, quoted(name.trim()));
        let help = format!("write {attribute} with a number for every activation up to this one");
        self.error(index, origin, found, "numbers, one for each activation, by position", help);
        None
    }

    /// The names in the list. `None` after an error about unknown names.
    fn activation_names<'t>(
        &mut self,
        index: usize,
        given: &GivenAttribute<'t>,
    ) -> Option<Vec<&'t str>> {
        // an empty text is an empty list, which `check` refuses
        let texts = given.text.split(',').filter(|_| !given.text.trim().is_empty());
        let Some(problem) = unknown_activations(texts.clone()) else {
            return Some(texts.collect());
        };
        let valid = message!("{}, separated by commas", problem.valid);
        self.report(index, Problem { valid, ..problem }.at(given.origin.clone()));
        None
    }

    /// The numbers in `activations_alpha` or `activations_beta`. `None` after an error.
    fn activation_numbers(
        &mut self,
        index: usize,
        attribute: &str,
        given: &GivenAttribute<'_>,
    ) -> Option<Vec<f32>> {
        let mut numbers = Vec::new();
        for text in given.text.split(',').filter(|_| !given.text.trim().is_empty()) {
            match parse_f32(text) {
                Ok(number) => numbers.push(number),
                Err(problem) => {
                    let text = quoted(text.trim());
                    let found = format!("{attribute} holds {text}, which is {problem}");
                    let valid = "numbers separated by commas, with a point where they have a \
                        fraction, or nothing";
                    let help = "correct the number, or remove the attribute for what ONNX takes";
                    self.error(index, given.origin.clone(), found, valid, help);
                    return None;
                }
            }
        }
        Some(numbers)
    }
}

/// The number of activations as text.
fn counted(names: &[&str]) -> String {
    match names.len() {
        1 => "1 activation".to_owned(),
        n => format!("{n} activations"),
    }
}

#[derive(Default)]
struct Ledger(Vec<LedgerEntry>);

impl Ledger {
    fn add(&mut self, attribute: &str, given: Option<&GivenAttribute<'_>>, taken: String) {
        self.0.push(LedgerEntry {
            attribute: attribute.to_owned(),
            text: given.map(|g| cut(g.text)),
            meaning: taken,
            origin: given.map_or(Origin::Unknown, |g| g.origin.clone()),
        });
    }
}
