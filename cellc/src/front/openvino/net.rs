//! Turns the XML tree of an IR into a [`Model`].
//!
//! Parameters, Results, Assigns and the layers that they depend on become nodes. All other layers
//! are ignored.

use std::collections::HashMap;

use super::attributes::Data;
use super::kinds::LayerType;
use super::layers::{CONNECT, Edge, GraphReader, Layer, Port, SAVE_AGAIN};
use super::operations::{OutputTypes, Ports, ReadOperation};
use super::supported::{self, Supported};
use super::text::{compatible, precision, split_names};
use super::weights::BinFile;
use super::xml::{Document, ElementId};
use crate::diagnostic::{Diagnostic, Origin, quoted};
use crate::front::read_model::ReadModel;
use crate::model::{ElementType, Loop, Op, Value, ValueId, shape_text};

/// The model of a document, and all problems found.
///
/// After an error, faulty layers are missing in the model, and values without a producer stand for
/// the missing inputs of other layers.
pub(super) fn read(document: &Document, weights: &mut BinFile) -> ReadModel {
    let mut reader = GraphReader::new(document, weights);
    reader.run();
    ReadModel { model: reader.graph.model, problems: reader.diagnostics }
}

impl<'a, 'w> GraphReader<'a, 'w> {
    fn run(&mut self) {
        let document = self.document;
        let root = document.root();
        if document.name(root) != "net" {
            let found = format!("the root element is {}", quoted(document.name(root)));
            self.push(
                Diagnostic::error(document.origin(root), found)
                    .valid("net, the root element of an OpenVINO IR")
                    .help("give the .xml file that OpenVINO's save_model wrote"),
            );
            return;
        }
        self.net(root);
        self.read_graph(root);
        if self.weights.given_in_vain() && !self.diagnostics.has_errors() {
            let found = "weights were given, but the model uses no constant: they were not read";
            self.push(Diagnostic::warning(Origin::Unknown, found));
        }
    }

    /// Reads the graph of a model or a body: the layers and edges inside `root`, then a node for
    /// each layer that is needed.
    fn read_graph(&mut self, root: ElementId) {
        let document = self.document;
        let (Some(layers), Some(edges)) =
            (self.section(root, "layers"), self.section(root, "edges"))
        else {
            return;
        };
        let Some(layers) = layers else {
            let graph = if self.is_body() { "body" } else { "model" };
            self.push(
                Diagnostic::error(document.origin(root), format!("the {graph} has no layers"))
                    .valid(format!("one element layers inside {}", document.name(root)))
                    .help(SAVE_AGAIN),
            );
            return;
        };
        let ids = self.read_layers(layers);
        if let Some(edges) = edges {
            self.read_edges(edges, &ids);
        }
        self.reach(root);
        for index in self.order() {
            self.layer(index);
        }
        self.unknown_layers();
        for layer in &self.layers {
            match layer.kind {
                LayerType::Parameter => self.graph.model.parameters.extend(layer.node),
                LayerType::Result => self.graph.model.results.extend(layer.node),
                _ => {}
            }
        }
    }

    /// Reads the name and version of the model.
    fn net(&mut self, root: ElementId) {
        const VERSIONS: &str = "IR versions 10 and 11";
        let document = self.document;
        for attribute in document.attributes(root) {
            let text = document.value(attribute);
            match document.attribute_name(attribute) {
                "name" => {
                    self.graph.model.name = Some(text.to_owned()).filter(|name| !name.is_empty())
                }
                "version" if matches!(text.trim(), "10" | "11") => {}
                "version" => self.push(
                    Diagnostic::error(
                        document.attribute_origin(attribute),
                        format!("IR version {}", quoted(text)),
                    )
                    .valid(VERSIONS)
                    .help("save the model again with OpenVINO 2022.1 or later"),
                ),
                name => {
                    let origin = document.attribute_origin(attribute);
                    self.push(Diagnostic::unknown_attribute(origin, name, "net", "name, version"));
                }
            }
        }
        if document.attribute(root, "version").is_none() {
            self.push(
                Diagnostic::error(document.origin(root), "net has no attribute version")
                    .valid(VERSIONS)
                    .help("give the .xml file that OpenVINO's save_model wrote"),
            );
        }
        for child in document.children(root) {
            if !matches!(document.name(child), "layers" | "edges" | "rt_info" | "meta_data") {
                let found =
                    format!("the element {} in net is ignored", quoted(document.name(child)));
                self.push(Diagnostic::warning(document.origin(child), found));
            }
        }
    }

    /// The child element of the given name; `Some(None)` if it is absent. `None` after an error:
    /// more than one.
    fn section(&mut self, root: ElementId, name: &str) -> Option<Option<ElementId>> {
        let document = self.document;
        let mut found = document.children_named(root, name);
        let first = found.next();
        match found.next() {
            None => Some(first),
            Some(second) => {
                self.push(
                    Diagnostic::error(
                        document.origin(second),
                        format!("a second element {name} in {}", document.name(root)),
                    )
                    .valid("one")
                    .help(SAVE_AGAIN),
                );
                None
            }
        }
    }

    fn read_layers(&mut self, layers: ElementId) -> HashMap<u64, usize> {
        let document = self.document;
        let mut ids = HashMap::new();
        for element in document.children(layers) {
            if document.name(element) != "layer" {
                let found = format!(
                    "the element {} among the layers is ignored",
                    quoted(document.name(element))
                );
                self.push(Diagnostic::warning(document.origin(element), found));
                continue;
            }
            let Some(id) = self.unsigned(None, element, "id", "a layer") else { continue };
            let text = |name| document.attribute(element, name).map_or("", |a| document.value(a));
            let layer = Layer {
                element,
                id,
                name: text("name"),
                type_name: text("type"),
                kind: supported::find(text("type")).map_or(LayerType::Unknown, |row| row.kind),
                incoming: Vec::new(),
                reached: false,
                node: None,
                outputs: Vec::new(),
            };
            let index = self.layers.len();
            self.layers.push(layer);
            if let Some(&first) = ids.get(&id) {
                let found =
                    format!("the id {id} belongs to another layer already: {}", self.label(first));
                self.error(
                    index,
                    document.origin(element),
                    found,
                    "an id of its own for every layer",
                    SAVE_AGAIN,
                );
            } else {
                ids.insert(id, index);
            }
        }
        ids
    }

    fn read_edges(&mut self, edges: ElementId, ids: &HashMap<u64, usize>) {
        let document = self.document;
        for element in document.children(edges) {
            if document.name(element) != "edge" {
                let found = format!(
                    "the element {} among the edges is ignored",
                    quoted(document.name(element))
                );
                self.push(Diagnostic::warning(document.origin(element), found));
                continue;
            }
            let [from_layer, from_port, to_layer, to_port] =
                ["from-layer", "from-port", "to-layer", "to-port"]
                    .map(|name| self.unsigned(None, element, name, "an edge"));
            let [Some(from_layer), Some(from_port), Some(to_layer), Some(to_port)] =
                [from_layer, from_port, to_layer, to_port]
            else {
                continue;
            };
            for id in [from_layer, to_layer] {
                if !ids.contains_key(&id) {
                    self.push(
                        Diagnostic::error(
                            document.origin(element),
                            format!("an edge names the layer {id}, which does not exist"),
                        )
                        .valid("the id of a layer of this model")
                        .help(SAVE_AGAIN),
                    );
                }
            }
            if let (Some(&from_layer), Some(&to)) = (ids.get(&from_layer), ids.get(&to_layer)) {
                self.layers[to].incoming.push(self.edges.len());
                self.edges.push(Edge { element, from_layer, from_port, to_port });
            }
        }
    }

    /// Reports unsupported layers, with one diagnostic for each type of layer.
    fn unknown_layers(&mut self) {
        let mut types: Vec<(usize, usize)> = Vec::new();
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (index, layer) in self.layers.iter().enumerate() {
            if layer.reached && layer.kind == LayerType::Unknown {
                let row = *seen.entry(layer.type_name).or_insert_with(|| {
                    types.push((index, 0));
                    types.len() - 1
                });
                types[row].1 += 1;
            }
        }
        for (first, count) in types {
            let name = quoted(self.layers[first].type_name);
            let found = match count {
                1 => format!("layers of type {name} are not read"),
                n => format!(
                    "layers of type {name} are not read; the model uses {n} of them, the first here"
                ),
            };
            let origin = self.origin(first);
            let diagnostic = Diagnostic::error(origin, found)
                .valid(supported::names())
                .help("build the layer of these, or cut the model down before saving it");
            self.report(first, diagnostic);
        }
    }

    /// Reads one layer and adds its node.
    fn layer(&mut self, index: usize) {
        if self.layers[index].kind == LayerType::Unknown {
            return;
        }
        let set = self.layer_itself(index);
        let mut data = self.data(index, set.unwrap_or_default());
        let kind = self.layers[index].kind;
        let operation = match set {
            Some(_) if kind.has_body() => self.body_operation(index, kind),
            Some(_) => self.operation(&mut data),
            None => None,
        };
        // a refused layer may have attributes that were not looked at, so none is reported as left
        // over; the reader of recurrent layers looks at all attributes before it refuses
        if set.is_some() && (operation.is_some() || kind.is_recurrent()) {
            let row = supported::find(self.layers[index].type_name);
            let has_no_effect =
                |name: &str, text: &str| row.is_some_and(|row| row.has_no_effect(name, text));
            self.left_over(&data, has_no_effect);
        }
        let inputs = self.connect(index);
        let ports = self.ports(index, "output");
        let (Some(mut operation), Some(mut inputs), Some(ports)) = (operation, inputs, ports)
        else {
            return;
        };
        if self.finish(index, &mut operation, &mut inputs).is_none() {
            return;
        }
        let Some(outputs) = self.outputs(index, &operation, &data, &inputs, &ports) else { return };
        let node = self.node(index, operation.op, inputs, outputs, operation.ledger);
        self.graph.model.nodes[node].attribute_places = data.places(self.document);
        self.layers[index].node = Some(node);
    }

    /// The TensorIterator, Loop or If of a layer. `None` after an error.
    fn body_operation(&mut self, index: usize, kind: LayerType) -> Option<ReadOperation> {
        let read = |body: &mut GraphReader<'_, '_>, element| body.read_graph(element);
        let (op, elements) = if self.is_too_deep() {
            let elements = vec![ElementType::F32; self.port_ids(index, "output").len()];
            (Op::Loop(Box::new(Loop::too_deep())), elements)
        } else if kind == LayerType::If {
            let (either, elements) = self.either(index, read)?;
            (Op::If(Box::new(either)), elements)
        } else {
            let (body, elements) = self.repeated(index, kind == LayerType::Loop, read)?;
            (Op::Loop(Box::new(body)), elements)
        };
        Some(ReadOperation::with_body(op, elements))
    }

    /// The output tensors of a layer. `None` after an error.
    fn outputs(
        &mut self,
        index: usize,
        operation: &ReadOperation,
        data: &Data,
        inputs: &[ValueId],
        ports: &[Port<'_>],
    ) -> Option<Vec<ValueId>> {
        let input = |i: usize| inputs.get(i).map(|input| &self.graph.model.values[input.0]);
        // f32 stands for the element type of a missing input
        let element = |output: usize| match &operation.element {
            OutputTypes::Is(element) => *element,
            OutputTypes::Of(i) => {
                input(*i).or(input(0)).map_or(ElementType::F32, |input| input.element)
            }
            OutputTypes::Each(elements) => {
                elements.get(output).copied().unwrap_or(ElementType::F32)
            }
        };
        match (&operation.op, ports) {
            (Op::Result, _) => {
                let (element, shape) = (element(0), input(0).and_then(|input| input.shape.clone()));
                if let Some(port) = ports.first() {
                    let origin = self.document.origin(port.element);
                    self.warning(index, origin, "an output port of a Result is ignored");
                }
                let names = self.document.attribute(self.layers[index].element, "output_names");
                let names = names.map(|names| split_names(self.document.value(names)));
                let (names, origin) = (names.unwrap_or_default(), self.origin(index));
                Some(vec![self.graph.add(Value { names, shape, element, origin })])
            }
            (Op::Assign { .. }, []) => {
                let (element, origin) = (element(0), self.origin(index));
                let value = Value { names: Vec::new(), shape: None, element, origin };
                Some(vec![self.graph.add(value)])
            }
            _ => {
                let elements: Vec<ElementType> = (0..ports.len()).map(element).collect();
                self.count_of_ports(index, &operation.ports, ports.len())?;
                let outputs = ports.iter().zip(elements);
                Some(outputs.map(|port| self.output(index, operation, data, port)).collect())
            }
        }
    }

    /// Refuses a number of output ports that the operation does not have. `None` after an error.
    fn count_of_ports(&mut self, index: usize, wanted: &Ports, count: usize) -> Option<()> {
        let valid = match wanted {
            Ports::OneOrMore if count == 0 => "one output port or more".to_owned(),
            Ports::Exactly(1) if count != 1 => "one output port".to_owned(),
            Ports::Exactly(wanted) if *wanted != count => format!("{wanted} output ports"),
            Ports::OneOrMore | Ports::Exactly(_) => return Some(()),
        };
        let plural = if count == 1 { "" } else { "s" };
        let found = format!("the layer declares {count} output port{plural}");
        self.error(index, self.origin(index), found, valid, SAVE_AGAIN);
        None
    }

    /// The tensor of an output port. A shape in an attribute takes precedence over the port's
    /// shape.
    fn output(
        &mut self,
        index: usize,
        operation: &ReadOperation,
        data: &Data,
        (port, element): (&Port<'_>, ElementType),
    ) -> ValueId {
        let port_origin = self.document.origin(port.element);
        let stated = Some(port.dims.clone()).filter(|dims| !dims.is_empty());
        if let (Some((attribute, shape)), Some(stated)) = (&operation.shape, &stated)
            && !compatible(shape, stated)
        {
            let found = format!(
                "the output port says {}, but the attribute {attribute} says {}: the attribute \
                 counts",
                shape_text(stated),
                shape_text(shape)
            );
            self.warning(index, port_origin.clone(), found);
        }
        self.check_precision(index, port, element);
        // later messages about the tensor point at the attribute with the shape if the tensor is
        // floating-point, else at the attribute with the element type; without the attribute, at
        // the port
        let shape_attribute = operation.shape.as_ref().map_or("shape", |(attribute, _)| attribute);
        let attribute = if element.is_float() { shape_attribute } else { "element_type" };
        let origin = data.origin_of(self.document, attribute).unwrap_or(port_origin);
        let shape = operation.shape.as_ref().map(|(_, shape)| shape.clone()).or(stated);
        let value =
            self.graph.add(Value { names: split_names(port.names), shape, element, origin });
        self.layers[index].outputs.push((port.id, value));
        value
    }

    /// Checks the attributes and child elements of a layer's element. Returns the number of the
    /// operation set that defines the layer. `None` if the type or the operation set is not
    /// supported.
    fn layer_itself(&mut self, index: usize) -> Option<u64> {
        let document = self.document;
        let element = self.layers[index].element;
        let row = supported::find(self.layers[index].type_name)?;
        let mut set = Some(row.latest());
        for attribute in document.attributes(element) {
            let origin = document.attribute_origin(attribute);
            let text = document.value(attribute);
            match document.attribute_name(attribute) {
                "id" | "name" | "type" => {}
                "output_names" if self.layers[index].kind == LayerType::Result => {}
                "version" if text.is_empty() => {}
                "version" => set = self.operation_set(index, row, text, origin),
                name => {
                    let refused = Diagnostic::unknown_attribute(
                        origin,
                        name,
                        "a layer",
                        "id, name, type, version",
                    );
                    self.report(index, refused);
                }
            }
        }
        self.check_sections(index, sections(row.kind));
        set
    }

    /// Refuses a repeated element of `sections`, and warns of all other elements but rt_info.
    fn check_sections(&mut self, index: usize, sections: &[&str]) {
        let document = self.document;
        let mut seen = vec![false; sections.len()];
        for child in document.children(self.layers[index].element) {
            let name = document.name(child);
            match sections.iter().position(|&n| n == name) {
                Some(section) if std::mem::replace(&mut seen[section], true) => {
                    let found = format!("a second element {name} in a layer");
                    self.error(index, document.origin(child), found, "one", SAVE_AGAIN);
                }
                Some(_) => {}
                None if name == "rt_info" => {}
                None => {
                    let found = format!("the element {} in a layer is ignored", quoted(name));
                    self.warning(index, document.origin(child), found);
                }
            }
        }
    }

    /// The number of the operation set that defines a layer. `text`: the layer's attribute
    /// `version`. `None` after an error.
    fn operation_set(
        &mut self,
        index: usize,
        row: &Supported,
        text: &str,
        origin: Origin,
    ) -> Option<u64> {
        let set = row.definition(text);
        if set.is_none() {
            let found = format!("the layer is of the operation set {}", quoted(text));
            let later = if row.latest() > 0 { ", or a later one that is known" } else { "" };
            let valid = format!("{} of {}{later}", row.name, row.sets.join(", "));
            self.error(index, origin, found, valid, "replace the layer by one of OpenVINO's own");
        }
        set
    }

    /// The input tensors of a layer in port order. After an error, placeholders stand for tensors
    /// not found. `None` if the ports are wrong.
    fn connect(&mut self, index: usize) -> Option<Vec<ValueId>> {
        let document = self.document;
        let ports = self.ports(index, "input")?;
        let mut by_port: HashMap<u64, Vec<Edge>> = HashMap::new();
        for &edge in &self.layers[index].incoming {
            let edge = self.edges[edge];
            by_port.entry(edge.to_port).or_default().push(edge);
        }
        let mut inputs = Vec::new();
        for port in &ports {
            let edges = by_port.remove(&port.id).unwrap_or_default();
            if let Some(second) = edges.get(1) {
                let found = format!("a second edge into the input port {}", port.id);
                self.error(
                    index,
                    document.origin(second.element),
                    found,
                    "one edge into every input port",
                    CONNECT,
                );
            }
            inputs.push(match self.follow(index, port, edges.first()) {
                Some(value) => value,
                None => {
                    let origin = document.origin(port.element);
                    self.graph.add(Value {
                        names: Vec::new(),
                        shape: None,
                        element: ElementType::F32,
                        origin,
                    })
                }
            });
        }
        let mut strays: Vec<(u64, Edge)> =
            by_port.into_iter().map(|(port, edges)| (port, edges[0])).collect();
        strays.sort_unstable_by_key(|(port, _)| *port);
        for (port, edge) in strays {
            let found =
                format!("an edge ends at the input port {port}, which the layer does not declare");
            let valid = match ports.len() {
                0 => "no edge: the layer has no input port".to_owned(),
                n => format!("one of the {n} input ports that the layer declares"),
            };
            self.error(index, document.origin(edge.element), found, valid, CONNECT);
        }
        Some(inputs)
    }

    /// The tensor at the start of an edge. `None` after an error.
    fn follow(&mut self, index: usize, port: &Port<'_>, edge: Option<&Edge>) -> Option<ValueId> {
        let document = self.document;
        let Some(edge) = edge else {
            let found = format!("nothing is connected to the input port {}", port.id);
            self.error(
                index,
                document.origin(port.element),
                found,
                "one edge into every input port",
                CONNECT,
            );
            return None;
        };
        let outputs = &self.layers[edge.from_layer].outputs;
        let Ok(output) = outputs.binary_search_by_key(&edge.from_port, |(port, _)| *port) else {
            let last = outputs.last().map(|(port, _)| *port);
            let from = &self.layers[edge.from_layer];
            // any other source layer without a node was refused; a Result may be read later
            if from.kind == LayerType::Result || last.is_none() && from.node.is_some() {
                let found = format!(
                    "the edge starts at {}, which has no output",
                    self.label(edge.from_layer)
                );
                self.error(
                    index,
                    document.origin(edge.element),
                    found,
                    "a layer with an output",
                    CONNECT,
                );
            } else if let Some(last) = last {
                let valid = match &outputs[..] {
                    [(port, _)] => format!("port {port}, its only output port"),
                    ports => {
                        format!("one of its {} output ports, {} to {last}", ports.len(), ports[0].0)
                    }
                };
                let found = format!(
                    "the edge starts at port {} of {}",
                    edge.from_port,
                    self.label(edge.from_layer)
                );
                self.error(index, document.origin(edge.element), found, valid, CONNECT);
            }
            return None;
        };
        let value = outputs[output].1;
        if let Some(shape) = &self.graph.model.values[value.0].shape
            && !port.dims.is_empty()
            && !compatible(shape, &port.dims)
        {
            let found = format!(
                "the input port {} says {}, but the connected output has {}, which is used",
                port.id,
                shape_text(&port.dims),
                shape_text(shape)
            );
            self.warning(index, document.origin(port.element), found);
        }
        Some(value)
    }

    fn check_precision(&mut self, index: usize, port: &Port<'_>, element: ElementType) {
        let Some(attribute) = port.precision else { return };
        let text = self.document.value(attribute);
        if !precision(element).eq_ignore_ascii_case(text.trim()) {
            let found = format!(
                "the port {} says precision {}, but the tensor is {}: the tensor's own type counts",
                port.id,
                quoted(text),
                element.name()
            );
            self.warning(index, self.document.attribute_origin(attribute), found);
        }
    }
}

/// The names of a layer's child elements, except rt_info. Only TensorIterator, Loop and If have
/// bodies.
fn sections(kind: LayerType) -> &'static [&'static str] {
    match kind {
        LayerType::If => {
            &["data", "input", "output", "then_port_map", "else_port_map", "then_body", "else_body"]
        }
        kind if kind.has_body() => &["data", "input", "output", "port_map", "back_edges", "body"],
        _ => &["data", "input", "output"],
    }
}
