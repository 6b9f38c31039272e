//! TensorIterator, Loop and If: their bodies, and the port maps that connect a body to its layer.

use std::collections::{HashMap, HashSet};

use super::kinds::LayerType;
use super::layers::{GraphReader, SAVE_AGAIN};
use super::text::{parse_integer, parse_signed};
use super::xml::ElementId;
use crate::diagnostic::{Diagnostic, Origin, quoted};
use crate::model::limits::MOST_NESTED;
use crate::model::{Branch, ElementType, If, Loop, LoopInput, LoopOutput, Model, Slicing};

/// The graph of a body, and the layers that a port map may name.
struct Body {
    model: Model,
    /// Index among the body's Parameters, by layer id.
    parameters: HashMap<u64, usize>,
    /// Index among the body's Results, by layer id.
    results: HashMap<u64, usize>,
}

/// The port map: connections between the layer's ports and the body's Parameters and Results.
#[derive(Default)]
struct Map {
    /// By index of the body's Parameter.
    inputs: HashMap<usize, LoopInput>,
    /// By index of the layer's output.
    outputs: HashMap<usize, LoopOutput>,
    current_iteration: Option<usize>,
    condition: Option<usize>,
    /// Indices of the layer's inputs named by the port map.
    used: HashSet<usize>,
}

/// A layer, its body and its ports.
struct Repeated {
    /// Index of the layer.
    index: usize,
    /// True for a Loop.
    counted: bool,
    body: Body,
    /// Index among the layer's inputs, by port id.
    inputs: HashMap<u64, usize>,
    /// Index among the layer's outputs, by port id.
    outputs: HashMap<u64, usize>,
}

impl GraphReader<'_, '_> {
    /// True if a body inside of this graph exceeds the limit of nesting.
    pub(super) fn is_too_deep(&self) -> bool {
        self.around.len() >= MOST_NESTED
    }

    /// The loop of a TensorIterator or, if `counted`, of a Loop, and the element types of its
    /// outputs. `read` reads the graph of the body, which may contain other loops. `None` after an
    /// error.
    pub(super) fn repeated(
        &mut self,
        index: usize,
        counted: bool,
        read: fn(&mut GraphReader<'_, '_>, ElementId),
    ) -> Option<(Loop, Vec<ElementType>)> {
        let document = self.document;
        let element = self.layers[index].element;
        let back_edges = document.children_named(element, "back_edges").next();
        let (port_map, inner) = self.inside(index, counted, ["port_map", "body"], read)?;
        let before = self.errors;
        let map = self.port_map(port_map, &inner);
        if self.errors > before {
            return None;
        }
        let map = self.back_edges(back_edges, &inner, map);
        if self.errors == before {
            self.nothing_is_left(&inner, &map);
        }
        if self.errors > before {
            return None;
        }
        let (Map { inputs, outputs, current_iteration, condition, .. }, body) = (map, inner.body);
        let mut inputs: Vec<LoopInput> = inputs.into_values().collect();
        inputs.sort_unstable_by_key(|input| input.parameter);
        let mut outputs: Vec<(usize, LoopOutput)> = outputs.into_iter().collect();
        outputs.sort_unstable_by_key(|(port, _)| *port);
        let outputs: Vec<LoopOutput> = outputs.into_iter().map(|(_, output)| output).collect();
        let elements = outputs.iter().map(|output| {
            let value = body
                .model
                .results
                .get(output.result)
                .and_then(|&node| body.model.nodes[node].outputs.first());
            value.map_or(ElementType::F32, |value| body.model.values[value.0].element)
        });
        let elements = elements.collect();
        Some((
            Loop { body: body.model, counted, inputs, outputs, current_iteration, condition },
            elements,
        ))
    }

    /// A layer's port map and body. `names`: the names of the port map's and the body's element.
    /// `None` after an error.
    fn inside(
        &mut self,
        index: usize,
        counted: bool,
        names: [&str; 2],
        read: fn(&mut GraphReader<'_, '_>, ElementId),
    ) -> Option<(ElementId, Repeated)> {
        let element = self.layers[index].element;
        let sections = names.map(|name| self.document.children_named(element, name).next());
        for (name, section) in names.iter().zip(sections) {
            if section.is_none() {
                let found = format!("the layer has no element {name}");
                self.error(
                    index,
                    self.origin(index),
                    found,
                    format!("one element {name}"),
                    SAVE_AGAIN,
                );
            }
        }
        let [Some(port_map), Some(body)] = sections else { return None };
        let body = self.body(index, body, read)?;
        let [inputs, outputs] = ["input", "output"].map(|side| {
            self.port_ids(index, side)
                .into_iter()
                .enumerate()
                .map(|(index, id)| (id, index))
                .collect()
        });
        Some((port_map, Repeated { index, counted, body, inputs, outputs }))
    }

    /// The branches of an If, and the element types of its outputs. `None` after an error.
    pub(super) fn either(
        &mut self,
        index: usize,
        read: fn(&mut GraphReader<'_, '_>, ElementId),
    ) -> Option<(If, Vec<ElementType>)> {
        let then = self.branch(index, ["then_port_map", "then_body"], read);
        let otherwise = self.branch(index, ["else_port_map", "else_body"], read);
        let ((then, elements), (otherwise, _)) = (then?, otherwise?);
        Some((If { then, otherwise }, elements))
    }

    fn branch(
        &mut self,
        index: usize,
        names: [&str; 2],
        read: fn(&mut GraphReader<'_, '_>, ElementId),
    ) -> Option<(Branch, Vec<ElementType>)> {
        let (port_map, repeated) = self.inside(index, false, names, read)?;
        let before = self.errors;
        let mut map = self.port_map(port_map, &repeated);
        if self.errors > before {
            return None;
        }
        let sliced = map.inputs.values().any(|input| input.slice.is_some())
            || map.outputs.values().any(|output| output.concatenation.is_some());
        if sliced {
            let found = format!("an axis in {}", names[0]);
            self.error(
                index,
                self.document.origin(port_map),
                found,
                "ports that are whole",
                SAVE_AGAIN,
            );
        }
        // the first input is the condition, and a branch may ignore any other input: none is
        // reported as unread
        map.used.extend(repeated.inputs.values());
        self.nothing_is_left(&repeated, &map);
        if self.errors > before {
            return None;
        }
        let mut body = repeated.body.model;
        let outputs: Vec<usize> = (0..repeated.outputs.len())
            .filter_map(|k| Some(body.results[map.outputs.get(&k)?.result]))
            .collect();
        let inputs =
            (0..body.parameters.len()).filter_map(|p| Some(map.inputs.get(&p)?.input)).collect();
        let elements = outputs.iter().map(|&node| {
            let value = body.nodes[node].inputs.first();
            value.map_or(ElementType::F32, |value| body.values[value.0].element)
        });
        let elements = elements.collect();
        body.results = outputs;
        Some((Branch { body, inputs }, elements))
    }

    /// Reads a body. Layer ids are local to the body; the file of weights is shared with the model.
    /// `None` after an error.
    fn body(
        &mut self,
        index: usize,
        element: ElementId,
        read: fn(&mut GraphReader<'_, '_>, ElementId),
    ) -> Option<Body> {
        let document = self.document;
        for child in document.children(element) {
            if !matches!(document.name(child), "layers" | "edges" | "rt_info") {
                let found =
                    format!("the element {} in a body is ignored", quoted(document.name(child)));
                self.warning(index, document.origin(child), found);
            }
        }
        let before = self.errors;
        let mut inner = GraphReader::new(document, &mut *self.weights);
        inner.diagnostics = std::mem::take(&mut self.diagnostics);
        inner.errors = before;
        inner.around.clone_from(&self.around);
        inner.around.push(self.layers[index].id);
        read(&mut inner, element);
        let GraphReader { graph, diagnostics, errors, layers, .. } = inner;
        self.diagnostics = diagnostics;
        self.errors = errors;
        if errors > before {
            return None;
        }
        let places = |kind: LayerType| {
            let read = layers.iter().filter(|layer| layer.kind == kind && layer.node.is_some());
            read.enumerate().map(|(position, layer)| (layer.id, position)).collect()
        };
        Some(Body {
            parameters: places(LayerType::Parameter),
            results: places(LayerType::Result),
            model: graph.model,
        })
    }

    fn port_map(&mut self, port_map: ElementId, repeated: &Repeated) -> Map {
        let document = self.document;
        let mut map = Map::default();
        for element in document.children(port_map) {
            match document.name(element) {
                "input" => self.map_input(element, repeated, &mut map),
                "output" => self.map_output(element, repeated, &mut map),
                name => {
                    let found = format!("the element {} in the port map is ignored", quoted(name));
                    self.warning(repeated.index, document.origin(element), found);
                    Some(())
                }
            };
        }
        map
    }

    fn map_input(&mut self, element: ElementId, repeated: &Repeated, map: &mut Map) -> Option<()> {
        let index = repeated.index;
        let origin = self.document.origin(element);
        let entry = self.entry(index, element, repeated.counted.then_some("current_iteration"));
        let parameter =
            self.inner(index, element, "internal_layer_id", "Parameter", &repeated.body.parameters);
        let (entry, parameter) = (entry?, parameter?);
        if map.inputs.contains_key(&parameter) || map.current_iteration == Some(parameter) {
            let found = "a Parameter of the body is in the port map twice";
            self.error(
                index,
                origin,
                found,
                "one entry for every Parameter of the body",
                SAVE_AGAIN,
            );
            return None;
        }
        if entry.special {
            if entry.slice.is_some() || map.current_iteration.is_some() {
                let found = "a second current_iteration, or one that is sliced";
                self.error(
                    index,
                    origin,
                    found,
                    "one input with purpose=\"current_iteration\"",
                    SAVE_AGAIN,
                );
                return None;
            }
            map.current_iteration = Some(parameter);
            return Some(());
        }
        let input = self.outer(index, element, &entry, "input", &repeated.inputs)?;
        map.used.insert(input);
        map.inputs
            .insert(parameter, LoopInput { parameter, input, slice: entry.slice, back_edge: None });
        Some(())
    }

    fn map_output(&mut self, element: ElementId, repeated: &Repeated, map: &mut Map) -> Option<()> {
        let index = repeated.index;
        let origin = self.document.origin(element);
        let entry = self.entry(index, element, repeated.counted.then_some("execution_condition"));
        let result =
            self.inner(index, element, "internal_layer_id", "Result", &repeated.body.results);
        let (entry, result) = (entry?, result?);
        if entry.special {
            if entry.slice.is_some() || map.condition.is_some() {
                let found = "a second execution_condition, or one that is put together of pieces";
                self.error(
                    index,
                    origin,
                    found,
                    "one output with purpose=\"execution_condition\"",
                    SAVE_AGAIN,
                );
                return None;
            }
            map.condition = Some(result);
            return Some(());
        }
        let output = self.outer(index, element, &entry, "output", &repeated.outputs)?;
        if map.outputs.contains_key(&output) {
            let found = "an output port of the layer is in the port map twice";
            self.error(index, origin, found, "one entry for every output port", SAVE_AGAIN);
            return None;
        }
        map.outputs.insert(output, LoopOutput { result, concatenation: entry.slice });
        Some(())
    }

    /// An entry of the port map. `purpose`: the valid purpose, if any. `None` after an error.
    fn entry(&mut self, index: usize, element: ElementId, purpose: Option<&str>) -> Option<Entry> {
        let before = self.errors;
        let mut given = self.entry_attributes(index, element, purpose);
        if given.external_port_id.is_none() && self.errors == before {
            let found = "an entry of the port map without the attribute external_port_id";
            let origin = self.document.origin(element);
            self.error(index, origin, found, ENTRY_ATTRIBUTES, SAVE_AGAIN);
        }
        let (external, external_origin) = given.external_port_id.take()?;
        let special = given.has_purpose;
        if special && external != -1 {
            let found = format!("external_port_id={external} with a purpose");
            let valid = "-1: what has a purpose has no port outside";
            self.error(index, external_origin, found, valid, SAVE_AGAIN);
        }
        if self.errors > before {
            return None;
        }
        Some(Entry { external, slice: self.slicing(index, given), special })
    }

    /// The attributes of an entry of the port map. `purpose`: the valid purpose, if any.
    fn entry_attributes(
        &mut self,
        index: usize,
        element: ElementId,
        purpose: Option<&str>,
    ) -> EntryAttributes {
        let document = self.document;
        let mut given = EntryAttributes::default();
        for attribute in document.attributes(element) {
            let (name, text) = (document.attribute_name(attribute), document.value(attribute));
            let origin = document.attribute_origin(attribute);
            let number = match name {
                "axis" => &mut given.axis,
                "start" => &mut given.start,
                "end" => &mut given.end,
                "stride" => &mut given.stride,
                "part_size" => &mut given.part_size,
                "external_port_id" => &mut given.external_port_id,
                "internal_layer_id" => continue,
                "purpose" if text.trim().is_empty() => continue,
                "purpose" => {
                    given.has_purpose = purpose.is_some_and(|purpose| purpose == text.trim());
                    if !given.has_purpose {
                        let valid = match purpose {
                            Some(purpose) => format!("no purpose, or {purpose}"),
                            None => "no purpose: only entries of a Loop have one".to_owned(),
                        };
                        let found = format!("purpose={}", quoted(text));
                        self.error(index, origin, found, valid, SAVE_AGAIN);
                    }
                    continue;
                }
                "internal_port_id" => {
                    let found =
                        "internal_port_id has no effect: Parameters and Results have one port";
                    self.warning(index, origin, found);
                    continue;
                }
                name => {
                    let refused = Diagnostic::unknown_attribute(
                        origin,
                        name,
                        "a port map's entry",
                        ENTRY_ATTRIBUTES,
                    );
                    self.report(index, refused);
                    continue;
                }
            };
            match parse_signed(text) {
                Some(value) => *number = Some((value, origin)),
                None => {
                    let found = format!("{name}={}", quoted(text));
                    self.error(index, origin, found, "an integer", SAVE_AGAIN);
                }
            }
        }
        given
    }

    /// The slices of an input, or the pieces of an output. `None` without `axis`: the whole tensor.
    fn slicing(&mut self, index: usize, given: EntryAttributes) -> Option<Slicing> {
        let EntryAttributes { axis, start, end, stride, part_size, .. } = given;
        if let Some((axis, _)) = axis {
            let number =
                |given: Option<(i64, Origin)>, default| given.map_or(default, |(value, _)| value);
            return Some(Slicing {
                axis,
                start: number(start, 0),
                end: number(end, -1),
                stride: number(stride, 1),
                part_size: number(part_size, 1),
            });
        }
        let numbers =
            [("start", start), ("end", end), ("stride", stride), ("part_size", part_size)];
        for (name, number) in numbers {
            if let Some((_, origin)) = number {
                self.warning(index, origin, format!("{name} has no effect without axis"));
            }
        }
        None
    }

    /// Index of the Parameter or Result of the body with the id in an attribute. `None` after an
    /// error.
    fn inner(
        &mut self,
        index: usize,
        element: ElementId,
        attribute: &str,
        what: &str,
        places: &HashMap<u64, usize>,
    ) -> Option<usize> {
        let document = self.document;
        let given = document.attribute(element, attribute);
        let text = given.map_or("", |given| document.value(given));
        let position = parse_integer(text).and_then(|id| places.get(&id).copied());
        if position.is_none() {
            let origin = given
                .map_or_else(|| document.origin(element), |given| document.attribute_origin(given));
            let found = match given {
                Some(_) => {
                    format!("{attribute}={}: the body has no {what} of this id", quoted(text))
                }
                None => format!("the attribute {attribute} is missing"),
            };
            self.error(index, origin, found, format!("the id of a {what} of the body"), SAVE_AGAIN);
        }
        position
    }

    /// Index of the layer's port that an entry of the port map names. `side`: input or output.
    /// `None` after an error.
    fn outer(
        &mut self,
        index: usize,
        element: ElementId,
        entry: &Entry,
        side: &str,
        places: &HashMap<u64, usize>,
    ) -> Option<usize> {
        let document = self.document;
        let position = u64::try_from(entry.external).ok().and_then(|id| places.get(&id).copied());
        if position.is_none() {
            let origin = document.attribute(element, "external_port_id");
            let origin = origin
                .map_or_else(|| document.origin(element), |given| document.attribute_origin(given));
            let found = format!(
                "external_port_id={}: the layer has no {side} port of this id",
                entry.external
            );
            self.error(
                index,
                origin,
                found,
                format!("the id of an {side} port of the layer"),
                SAVE_AGAIN,
            );
        }
        position
    }

    fn back_edges(
        &mut self,
        back_edges: Option<ElementId>,
        repeated: &Repeated,
        mut map: Map,
    ) -> Map {
        let (document, index) = (self.document, repeated.index);
        for element in back_edges.into_iter().flat_map(|back_edges| document.children(back_edges)) {
            if document.name(element) != "edge" {
                let found = format!(
                    "the element {} among the back edges is ignored",
                    quoted(document.name(element))
                );
                self.warning(index, document.origin(element), found);
                continue;
            }
            for attribute in document.attributes(element) {
                let name = document.attribute_name(attribute);
                if !matches!(name, "from-layer" | "to-layer" | "from-port" | "to-port") {
                    let origin = document.attribute_origin(attribute);
                    let known = "from-layer, to-layer";
                    self.report(
                        index,
                        Diagnostic::unknown_attribute(origin, name, "a back edge", known),
                    );
                }
            }
            let from = self.inner(index, element, "from-layer", "Result", &repeated.body.results);
            let to = self.inner(index, element, "to-layer", "Parameter", &repeated.body.parameters);
            let (Some(result), Some(parameter)) = (from, to) else { continue };
            let (found, valid) = match map.inputs.get_mut(&parameter) {
                Some(input) if input.slice.is_some() => {
                    ("a back edge to a Parameter that is sliced", "either of the two")
                }
                Some(input) => match input.back_edge.replace(result) {
                    None => continue,
                    Some(_) => {
                        ("a second back edge to a Parameter", "one back edge to a Parameter")
                    }
                },
                None if map.current_iteration != Some(parameter) => (
                    "a back edge to a Parameter that has no first value",
                    "an input in the port map for the Parameter",
                ),
                None => {
                    ("a back edge to the number of the iteration", "no back edge to this Parameter")
                }
            };
            self.error(index, document.origin(element), found, valid, SAVE_AGAIN);
        }
        map
    }

    /// Reports Parameters of the body, output ports and input ports that the port map does not
    /// name. A Loop's first two inputs, trip count and condition, may be absent from the port map.
    fn nothing_is_left(&mut self, repeated: &Repeated, map: &Map) {
        let (index, origin) = (repeated.index, self.origin(repeated.index));
        let unmapped = |ids: &HashMap<u64, usize>, is_left: &dyn Fn(&usize) -> bool| {
            let mut missing_ids: Vec<u64> =
                ids.iter().filter(|(_, port)| is_left(port)).map(|(id, _)| *id).collect();
            missing_ids.sort_unstable();
            missing_ids
        };
        let is_given =
            |port: &usize| map.inputs.contains_key(port) || map.current_iteration == Some(*port);
        for id in unmapped(&repeated.body.parameters, &|port| !is_given(port)) {
            let found = format!("the body's Parameter of id {id} is not in the port map");
            self.error(
                index,
                origin.clone(),
                found,
                "an input in the port map for every Parameter",
                SAVE_AGAIN,
            );
        }
        for id in unmapped(&repeated.outputs, &|port| !map.outputs.contains_key(port)) {
            let found = format!("the output port {id} is not in the port map");
            self.error(
                index,
                origin.clone(),
                found,
                "an output in the port map for every output port",
                SAVE_AGAIN,
            );
        }
        let first = if repeated.counted { 2 } else { 0 };
        for id in unmapped(&repeated.inputs, &|port| *port >= first && !map.used.contains(port)) {
            let found = format!("the port map does not name the input port {id}: it is not read");
            self.warning(index, origin.clone(), found);
        }
    }
}

/// The attributes of an entry of the port map.
const ENTRY_ATTRIBUTES: &str = "external_port_id, internal_layer_id, axis, start, end, stride, \
    part_size, purpose (in a Loop)";

/// The attributes of an entry of the port map: the numbers with their places. `None`: not given.
#[derive(Default)]
struct EntryAttributes {
    axis: Option<(i64, Origin)>,
    start: Option<(i64, Origin)>,
    end: Option<(i64, Origin)>,
    stride: Option<(i64, Origin)>,
    part_size: Option<(i64, Origin)>,
    external_port_id: Option<(i64, Origin)>,
    /// True if the entry has its valid purpose.
    has_purpose: bool,
}

/// An entry of the port map.
struct Entry {
    external: i64,
    slice: Option<Slicing>,
    /// True if the entry has its valid purpose: current_iteration or execution_condition.
    special: bool,
}
