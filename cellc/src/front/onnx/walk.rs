//! Reads a file graph by graph and node by node, by the rows of the table of operators.

use std::collections::HashSet;
use std::mem::replace;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::attributes::Attributes;
use super::dated;
use super::graph::{Call, GraphReader, Level};
use super::nodes::{Functions, OnnxNode, domain, expanded, needed, versions};
use super::proto::{
    DimensionProto, FunctionProto, GraphProto, ModelProto, SparseTensorProto, TensorProto,
    TypeProto, ValueInfoProto, Versions,
};
use super::remedies;
use super::supported::{self, LATEST, OLDEST, Supported};
use super::tensors::{Folder, element_type};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Problem, quoted};
use crate::front::read_model::ReadModel;
use crate::model::{AxisName, Dim, ElementType, Model, ValueId, counted};
use crate::request::NamedSize;

/// A named constant tensor, dense or sparse.
enum Initializer<'g> {
    Dense(&'g TensorProto),
    Sparse(&'g SparseTensorProto),
}

/// A range of numbers of inputs or outputs as text.
fn range_text(range: &RangeInclusive<usize>) -> String {
    match (*range.start(), *range.end()) {
        (a, b) if a == b => a.to_string(),
        (a, usize::MAX) => format!("{a} or more"),
        (a, b) => format!("{a} to {b}"),
    }
}

impl<'f> GraphReader<'f> {
    /// The model of a file, and all problems found.
    pub(super) fn model(
        message: ModelProto,
        folder: &'f mut Folder,
        dims: &'f [NamedSize],
    ) -> ReadModel {
        let (all, twice) = versions(&message.opset_import);
        let mut reader = GraphReader {
            folder,
            functions: Functions::new(),
            versions: Arc::new(all),
            count: 0,
            dims,
            dimensions: Vec::new(),
            axis_names: Vec::new(),
            diagnostics: Diagnostics::default(),
            levels: vec![Level::new()],
            label: String::new(),
            name: String::new(),
            read_body: |reader, graph, parameters| reader.body(graph, parameters),
        };
        for name in twice {
            reader.refuse(Problem::new(
                format!("two versions of the operator set {}", quoted(&name)),
                "one version of each",
                "export the model again",
            ));
        }
        reader.version(message.ir_version.unwrap_or(0));
        reader.define_functions(message.functions);
        reader.warn_of_newer();
        match message.graph {
            Some(graph) => {
                let producer = message.producer_name.filter(|name| !name.is_empty());
                let producer =
                    if is_of_keras(&graph) { Some("keras".to_owned()) } else { producer };
                reader.level().graph.model.producer = producer;
                reader.level().graph.model.name =
                    graph.name.clone().filter(|name| !name.is_empty());
                reader.body(graph, None);
            }
            None => reader.refuse(Problem::new(
                "a model without a graph",
                "a graph",
                "export the model again",
            )),
        }
        let dimensions = std::mem::take(&mut reader.dimensions);
        let axis_names = std::mem::take(&mut reader.axis_names);
        let model = Model { dimensions, axis_names, ..reader.leave().graph.model };
        ReadModel { model, problems: reader.diagnostics }
    }

    /// Checks the versions stated by the file.
    fn version(&mut self, ir_version: i64) {
        if ir_version < 3 {
            let found = format!("IR version {ir_version}");
            self.refuse(Problem::new(
                found,
                "3 or later",
                "export the model again, with a newer exporter",
            ));
        }
        let version = self.versions.get("").copied();
        match version {
            Some(version) if version >= OLDEST => {}
            None if !self.versions.is_empty() => {}
            _ => {
                let found = format!("operator set {}", version.unwrap_or(1));
                let valid = format!("{OLDEST} to {LATEST}");
                let help = "convert the model: onnx.version_converter.convert_version(model, 17)";
                self.refuse(Problem::new(found, valid, help));
            }
        }
    }

    /// Warns if the file or one of its functions imports an operator set newer than [`LATEST`].
    fn warn_of_newer(&mut self) {
        let of_functions =
            self.functions.values().flat_map(|function| versions(&function.opset_import).0);
        let versions = Versions::clone(&self.versions).into_iter().chain(of_functions);
        let newest = versions.filter(|(name, _)| name.is_empty()).map(|(_, version)| version).max();
        if let Some(version) = newest.filter(|&version| version > LATEST) {
            let found =
                format!("operator set {version} is read as {LATEST}, the newest that is known");
            self.diagnostics.push(Diagnostic::warning(Origin::Unknown, found));
        }
    }

    fn define_functions(&mut self, functions: Vec<FunctionProto>) {
        for function in functions {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let key = (
                domain(function.domain.as_deref()).to_owned(),
                text(&function.name),
                text(&function.overload),
            );
            let name = quoted(&key.1);
            if self.functions.insert(key, function).is_some() {
                let found = format!("the function {name} is defined twice");
                self.refuse(Problem::new(
                    found,
                    "one definition of each function",
                    "export the model again",
                ));
            }
        }
    }

    /// Reads a graph into the current level. `parameters`: the values of the inputs of a nested
    /// graph. `None` for the main graph.
    fn body(&mut self, graph: GraphProto, parameters: Option<&[ValueId]>) {
        let mut known: HashSet<String> = HashSet::new();
        let versions = graph.versions.as_ref().unwrap_or(&self.versions);
        let nodes = match expanded(graph.node.clone(), versions, &self.functions, &mut self.count) {
            Ok(nodes) => nodes,
            Err(problem) => return self.refuse(problem),
        };
        let outputs = graph.output.iter().filter_map(|output| output.name.as_deref());
        let (nodes_needed, read) = needed(&nodes, outputs);
        self.initializers(&graph, &read, &mut known);
        match parameters {
            None => self.parameters(&graph.input, &known),
            Some(values) => {
                for (input, value) in graph.input.iter().zip(values) {
                    self.define(input.name.as_deref().unwrap_or_default(), *value);
                }
            }
        }
        for node in nodes_needed {
            self.node(node, &read);
        }
        self.name.clear();
        for (at, output) in graph.output.iter().enumerate() {
            self.output(at, output, parameters.is_none());
        }
        for info in &graph.value_info {
            let name = info.name.as_deref().unwrap_or_default();
            if let Some(&value) = self.level().names.get(name) {
                self.label = format!("{} (value_info)", quoted(name));
                self.declared(value, info, false);
            }
        }
    }

    /// Defines the initializers in `read`, and adds the names of all initializers to `known`.
    fn initializers(
        &mut self,
        graph: &GraphProto,
        read: &HashSet<&str>,
        known: &mut HashSet<String>,
    ) {
        let dense =
            graph.initializer.iter().map(|tensor| (&tensor.name, Initializer::Dense(tensor)));
        let sparse = graph.sparse_initializer.iter();
        let sparse = sparse.filter_map(|tensor| {
            Some((&tensor.values.as_ref()?.name, Initializer::Sparse(tensor)))
        });
        for (name, tensor) in dense.chain(sparse) {
            let name = name.clone().unwrap_or_default();
            if !known.insert(name.clone()) {
                let found = format!("two initializers called {}", quoted(&name));
                self.refuse(Problem::new(
                    found,
                    "one initializer of each name",
                    "export the model again",
                ));
                continue;
            }
            if !read.contains(&name[..]) {
                continue;
            }
            self.label = format!("{} (initializer)", quoted(&name));
            self.name = name.clone();
            let tensor = match tensor {
                Initializer::Dense(tensor) => self.tensor(tensor),
                Initializer::Sparse(tensor) => self.sparse(tensor),
            };
            if let Some(tensor) = tensor {
                let value = self.constant_named(&name, &tensor);
                self.define(&name, value);
            }
        }
    }

    /// Adds output `at` of the current graph. `is_main`: true for the main graph.
    fn output(&mut self, at: usize, output: &ValueInfoProto, is_main: bool) {
        let name = output.name.as_deref().unwrap_or_default();
        self.label = format!("{} (output)", quoted(name));
        let Some(value) = self.value(name) else {
            // no second error if the node that makes the output was refused
            if self.errors() == 0 {
                let found = format!("no node makes the output {}", quoted(name));
                self.error(found, "a node that makes it", "export the model again");
            }
            return;
        };
        if self.sequence(value).is_some() {
            self.sequence_output(at, value);
            return;
        }
        self.result(name, value);
        self.declared(value, output, is_main);
    }

    /// Adds an output that is a sequence. Only the body of a Loop may have such an output.
    fn sequence_output(&mut self, at: usize, value: ValueId) {
        let is_body = self.levels.len() > 1;
        match &mut self.level().sequence_outputs {
            Some(outputs) => outputs.push((at, value)),
            None if is_body => {
                let found = "a sequence that the branch of an If, or the body of a Scan, hands on";
                let help = "put its elements together there, in both branches of an If: \
                    ConcatFromSequence, which torch.stack and torch.cat become";
                self.error(found, "tensors", help);
            }
            None => self.error("an output that is a sequence", "tensors", super::sequences::HELP),
        }
    }

    /// Refuses a declared element type other than the value's. The declared shape becomes the
    /// value's shape if the value has none yet. `is_output`: the shape is that of the last Result.
    fn declared(&mut self, value: ValueId, info: &ValueInfoProto, is_output: bool) {
        let Some(tensor) = info.r#type.as_ref().and_then(|given| given.tensor_type.as_ref()) else {
            return;
        };
        let known_element = self.element(value);
        if let Some(element) = tensor.elem_type.and_then(|number| element_type(number).ok())
            && element != known_element
        {
            let found =
                format!("declared as {}, and computed as {}", element.name(), known_element.name());
            self.error(found, "one type", "correct the declaration, or convert the value by Cast");
        }
        let Some(given) = &tensor.shape else { return };
        let dims: Vec<Dim> = given.dim.iter().map(|dim| self.size(dim)).collect();
        let level = self.level();
        let model = &mut level.graph.model;
        let value = if is_output {
            model.nodes[*model.results.last().expect("just added")].outputs[0]
        } else {
            value
        };
        let shape = &mut model.values[value.0].shape;
        if shape.is_none() {
            *shape = Some(dims);
        }
    }

    /// A declared size. The user's size for its name takes precedence.
    fn size(&self, dim: &DimensionProto) -> Dim {
        let fixed = dim.dim_param.as_ref().and_then(|name| self.size_of(name));
        let written =
            dim.dim_value.and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0);
        // exporters write an unknown size as 0, as a negative number, or not at all
        fixed.flatten().or(written).map_or(Dim::Dynamic { min: 0, max: None }, Dim::Fixed)
    }

    /// Adds the inputs of the main graph.
    fn parameters(&mut self, inputs: &[ValueInfoProto], known: &HashSet<String>) {
        for input in inputs {
            let name = input.name.clone().unwrap_or_default();
            // files of IR version 3 list every initializer among the inputs
            if known.contains(&name) {
                continue;
            }
            self.label = format!("{} (input)", quoted(&name));
            self.name = name.clone();
            let Some((element, shape)) = self.tensor_type(input.r#type.as_ref()) else { continue };
            let value = self.parameter(&name, element, shape);
            let open = self.axes_to_leave_open(input);
            self.level().graph.model.open_axes.extend(open.into_iter().map(|axis| (value, axis)));
            if !self.define(&name, value) {
                self.error(
                    "two inputs of this name",
                    "one input of each name",
                    "export the model again",
                );
            }
        }
    }

    /// Axes of an input that the user keeps open by name.
    fn axes_to_leave_open(&self, input: &ValueInfoProto) -> Vec<usize> {
        let shape =
            input.r#type.as_ref().and_then(|given| given.tensor_type.as_ref()?.shape.as_ref());
        let dims = shape.map_or(&[][..], |shape| &shape.dim);
        let is_open = |dim: &DimensionProto| {
            dim.dim_param
                .as_ref()
                .and_then(|name| self.size_of(name))
                .is_some_and(|size| size.is_none())
        };
        dims.iter().enumerate().filter(|(_, dim)| is_open(dim)).map(|(axis, _)| axis).collect()
    }

    /// Element type and shape of an input. Notes the names of sizes. `None` after an error.
    fn tensor_type(
        &mut self,
        given: Option<&TypeProto>,
    ) -> Option<(ElementType, Option<Vec<Dim>>)> {
        let Some(tensor) = given.and_then(|given| given.tensor_type.as_ref()) else {
            self.error(
                "an input that is no tensor",
                "tensors",
                "export the model with tensors as inputs",
            );
            return None;
        };
        let element = match element_type(tensor.elem_type.unwrap_or(0)) {
            Ok(element) => element,
            Err(problem) => {
                self.report(problem);
                return None;
            }
        };
        let mut shape = None;
        if let Some(given) = &tensor.shape {
            let mut dims = Vec::new();
            for dim in &given.dim {
                let named = dim.dim_param.as_ref().filter(|name| !name.is_empty());
                if let Some(name) = named {
                    let (input, axis, name) = (self.name.clone(), dims.len(), name.clone());
                    self.axis_names.push(AxisName { input, axis, name });
                }
                if let Some(name) = named.filter(|name| !self.dimensions.contains(name)) {
                    self.dimensions.push(name.clone());
                }
                // a written 0 is a size: an input without elements
                let is_empty = named.is_none() && dim.dim_value == Some(0);
                dims.push(if is_empty { Dim::Fixed(0) } else { self.size(dim) });
            }
            shape = Some(dims);
        }
        Some((element, shape))
    }

    /// Reads one node. `read`: the names that a node or the graph reads.
    fn node(&mut self, node: &OnnxNode, read: &HashSet<&str>) {
        let op_type = node.proto.op_type.clone().unwrap_or_default();
        let domain_name = domain(node.proto.domain.as_deref());
        let shown = quoted(&op_type);
        let mut shown = shown[1..shown.len() - 1].to_owned();
        if !domain_name.is_empty() {
            let domain = quoted(domain_name);
            shown = format!("{}.{shown}", &domain[1..domain.len() - 1]);
        }
        let function = match &node.function {
            Some(function) => {
                let function = quoted(function);
                format!(" of the function {}", &function[1..function.len() - 1])
            }
            None => String::new(),
        };
        let name = node.proto.name.clone().unwrap_or_default();
        self.label = format!(
            "{} ({shown}, node {}{function}, opset {})",
            quoted(&name),
            node.index,
            node.version
        );
        self.name = name;
        let Some(row) = supported::find(domain_name, &op_type) else {
            let valid = "the operators that docs/reference/operations.md lists";
            self.error("this operator is not read", valid, remedies::advice(domain_name, &op_type));
            return;
        };
        if domain_name.is_empty() && node.version < OLDEST && node.version != 0 {
            let found = format!("operator set {}", node.version);
            self.error(
                found,
                format!("{OLDEST} to {LATEST}"),
                "convert the model to a newer operator set",
            );
            return;
        }
        let Some(version) = row.definition(node.version) else {
            let found = format!("{shown} in operator set {}, which does not have it", node.version);
            self.error(found, format!("{} or later", row.versions[0]), "export the model again");
            return;
        };
        if domain_name.is_empty() && !dated::check(self, &node.proto, &op_type, node.version) {
            return;
        }
        let around = replace(&mut self.versions, node.versions.clone());
        self.lower(node, row, version, read);
        self.versions = around;
    }

    /// Reads a node by its row of the table. `read`: the names that a node or the graph reads.
    fn lower(
        &mut self,
        node: &OnnxNode,
        row: &'static Supported,
        version: i64,
        read: &HashSet<&str>,
    ) {
        let mut attributes = Attributes::new(row.name, node.proto.attribute.clone());
        let before = self.errors();
        let Some(inputs) = self.inputs(&node.proto.input) else { return };
        if !super::sequences::check(self, row.name, &inputs) || !self.fits_inputs(row, &inputs) {
            return;
        }
        let names = &node.proto.output;
        let written = names.iter().rposition(|name| !name.is_empty()).map_or(0, |at| at + 1);
        if names.len() < *row.outputs.start() || written > *row.outputs.end() {
            self.error(
                counted(names.len(), "output"),
                range_text(&row.outputs),
                "export the model again",
            );
            return;
        }
        let is_read = |name: &String| !name.is_empty() && read.contains(&name[..]);
        let outputs = names.iter().rposition(is_read).map_or(0, |at| at + 1);
        let read = names[..outputs].iter().map(is_read).collect();
        let mut call = Call { version, inputs, written, read, attributes: &mut attributes };
        let values = (row.lower)(self, &mut call);
        let problems = std::mem::take(&mut attributes.problems);
        problems.into_iter().for_each(|problem| self.report(problem));
        if self.errors() > before {
            return;
        }
        for name in attributes.rest() {
            const VALID: &str = "the attributes of the operator's definition";
            let refused = Diagnostic::unknown_attribute(Origin::Unknown, &name, row.name, VALID);
            self.diagnostics.push(refused.layer(self.label.clone()));
        }
        let Some(values) = values else { return };
        if values.len() < outputs {
            let found = format!("output {} is asked for", values.len());
            self.error(found, format!("the first {} only", values.len()), "leave the output out");
            return;
        }
        for (name, value) in node.proto.output.iter().zip(values) {
            if !name.is_empty() {
                self.define_output(name, value);
            }
        }
    }

    /// The values of a node's inputs, `None` for an omitted input. `None` instead of the list after
    /// an error.
    fn inputs(&mut self, names: &[String]) -> Option<Vec<Option<ValueId>>> {
        let mut inputs = Vec::new();
        for name in names {
            inputs.push(if name.is_empty() { None } else { Some(self.value(name)) });
            if inputs.last() == Some(&Some(None)) && self.errors() == 0 {
                let found = format!("no earlier node makes the input {}", quoted(name));
                self.error(
                    found,
                    "nodes in the order in which they are computed",
                    "export the model again",
                );
            }
        }
        // a trailing empty name is an omitted input
        while inputs.last() == Some(&None) {
            inputs.pop();
        }
        // no second error: the node that makes a missing input was refused
        let is_missing = inputs.contains(&Some(None));
        (!is_missing).then(|| inputs.into_iter().map(Option::flatten).collect())
    }

    /// True if the number of inputs is valid and no required input is omitted. Else reports an
    /// error.
    fn fits_inputs(&mut self, row: &Supported, inputs: &[Option<ValueId>]) -> bool {
        let wanted = row.inputs.clone();
        let (found, valid) = if !wanted.contains(&inputs.len()) {
            (counted(inputs.len(), "input"), range_text(&wanted))
        } else {
            let missing = |&at: &usize| inputs[at].is_none() && !row.may_lack(at);
            match (0..inputs.len()).find(missing) {
                Some(at) => {
                    (format!("input {at} is left out"), "an input in this place".to_owned())
                }
                None => return true,
            }
        };
        self.error(found, valid, "export the model again");
        false
    }

    /// Names an output of a node.
    fn define_output(&mut self, name: &str, value: ValueId) {
        if self.level().names.contains_key(name) {
            let found = format!("a second tensor called {}", quoted(name));
            self.error(found, "one tensor of each name", "export the model again");
            return;
        }
        let names = &mut self.level().graph.model.values[value.0].names;
        if names.is_empty() {
            names.push(name.to_owned());
        }
        self.define(name, value);
    }
}

/// True if PyTorch exported a model of Keras. The exporter notes the model's class at each node.
fn is_of_keras(graph: &GraphProto) -> bool {
    const CLASSES: &str = "pkg.torch.onnx.class_hierarchy";
    let mut notes = graph.node.iter().flat_map(|node| &node.metadata_props);
    notes.any(|note| {
        note.key.as_deref() == Some(CLASSES)
            && note.value.as_ref().is_some_and(|value| value.contains("'keras."))
    })
}
