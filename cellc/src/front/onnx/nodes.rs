//! The nodes of a file before they become operations: function calls are expanded into the bodies,
//! and nodes without influence on an output are dropped.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use prost::Message;

use super::proto::{
    AttributeProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, Versions,
};
use crate::diagnostic::{Problem, quoted};
use crate::model::counted;

/// The most nodes of a model. Each call of a function adds the function's nodes.
pub(super) const MOST_NODES_IN_FILE: usize = 1 << 16;

/// Maximum size of all expanded function calls together, in encoded bytes.
const MOST_CALLED: usize = 1 << 26;

/// Maximum depth of nested function calls.
const MOST_CALLS: usize = 64;

/// A node and the version of its operator.
#[derive(Clone, Debug)]
pub(super) struct OnnxNode {
    pub(super) proto: NodeProto,
    /// The imported version of the operator set of the node's domain. 0 if the file imports none.
    pub(super) version: i64,
    /// Index in the list of nodes of its graph or function.
    pub(super) index: usize,
    /// Name of the function around the node. `None` for a node of a graph.
    pub(super) function: Option<String>,
    /// The operator sets of the nested graphs of the node that have no
    /// [operator sets of their own](GraphProto::versions).
    pub(super) versions: Arc<Versions>,
}

/// The normalised name of a domain: the default domain is empty, `ai.onnx` is an alias for it.
pub(super) fn domain(text: Option<&str>) -> &str {
    match text {
        None | Some("ai.onnx") => "",
        Some(text) => text,
    }
}

/// The imported versions, and the domains imported twice with different versions.
pub(super) fn versions(imports: &[OperatorSetIdProto]) -> (Versions, Vec<String>) {
    let mut versions = Versions::new();
    let mut twice = Vec::new();
    for import in imports {
        let (name, version) = (domain(import.domain.as_deref()), import.version.unwrap_or(0));
        if versions.insert(name.to_owned(), version).is_some_and(|before| before != version) {
            twice.push(name.to_owned());
        }
    }
    (versions, twice)
}

/// The functions of a file, by domain, name and overload.
pub(super) type Functions = HashMap<(String, String, String), FunctionProto>;

fn too_many_nodes() -> Problem {
    let found =
        format!("more than {MOST_NODES_IN_FILE} nodes, those of functions counted at each call");
    above_limit(found, "simplify the model")
}

/// The refusal of a model above a limit of nodes, calls or bytes.
fn above_limit(found: String, help: &'static str) -> Problem {
    Problem::new(found, "fewer", help)
}

/// The refusal of a call with an input, an output or an attribute that the function does not
/// declare.
fn undeclared(function: &FunctionProto, call: &NodeProto) -> Option<Problem> {
    let context = format!("in a call of the function {}", quoted(call.op_type.as_deref()?));
    let given = |names: &[String]| names.iter().rposition(|name| !name.is_empty());
    let counts = [
        ("input", given(&call.input), function.input.len()),
        ("output", given(&call.output), function.output.len()),
    ];
    for (what, last, most) in counts {
        if let Some(last) = last.filter(|&last| last >= most) {
            let found = format!("{} {context}", counted(last + 1, what));
            let valid = format!("at most {}", counted(most, what));
            return Some(Problem::new(found, valid, "correct the call"));
        }
    }
    let of_defaults = function.attribute_proto.iter().filter_map(|own| own.name.as_deref());
    let declared: Vec<&str> =
        function.attribute.iter().map(|name| &name[..]).chain(of_defaults).collect();
    let names = call.attribute.iter().map(|own| own.name.as_deref().unwrap_or_default());
    let name = { names }.find(|name| !declared.contains(name))?;
    let valid = match declared[..] {
        [] => "no attribute".to_owned(),
        _ => declared.join(", "),
    };
    let found = format!("the attribute {} {context}", quoted(name));
    Some(Problem::new(found, valid, "correct the call"))
}

/// All graphs in a node's attributes.
pub(super) fn graphs(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs))
}

/// Number of nodes in a node: 1 for the node itself plus all nodes of its nested graphs. The
/// decoder's recursion limit bounds the nesting.
fn nodes_of(node: &NodeProto) -> usize {
    1 + graphs(node).flat_map(|graph| &graph.node).map(nodes_of).sum::<usize>()
}

/// The nodes with every function call replaced by the function's body. `count` grows by one for
/// each node returned. Nodes of nested graphs grow it when the graphs are read.
///
/// # Errors
/// For a graph whose calls of functions cannot be expanded, or with too many nodes.
pub(super) fn expanded(
    nodes: Vec<NodeProto>,
    versions: &Arc<Versions>,
    functions: &Functions,
    count: &mut usize,
) -> Result<Vec<OnnxNode>, Problem> {
    let mut done = Vec::new();
    let version_in = |proto: &NodeProto, versions: &Versions| {
        versions.get(domain(proto.domain.as_deref())).copied().unwrap_or(0)
    };
    let mut waiting: Vec<(OnnxNode, usize)> = nodes
        .into_iter()
        .enumerate()
        .map(|(index, proto)| {
            let (version, versions) = (version_in(&proto, versions), versions.clone());
            (OnnxNode { version, proto, index, function: None, versions }, 0)
        })
        .collect();
    waiting.reverse();
    // `nested`: the number of nodes in nested graphs of the copied bodies
    let (mut calls, mut bytes, mut nested) = (0, 0, 0);
    while let Some((node, depth)) = waiting.pop() {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let key = (
            domain(node.proto.domain.as_deref()).to_owned(),
            text(&node.proto.op_type),
            text(&node.proto.overload),
        );
        let Some(function) = functions.get(&key) else {
            *count += 1;
            if *count > MOST_NODES_IN_FILE {
                return Err(too_many_nodes());
            }
            done.push(node);
            continue;
        };
        if depth >= MOST_CALLS {
            let by = node
                .function
                .as_deref()
                .map(|function| format!(" in {}", quoted(function)))
                .unwrap_or_default();
            let found = format!(
                "more than {MOST_CALLS} calls of functions inside each other: the innermost calls \
                 {}{by}",
                quoted(&key.1)
            );
            let help = "correct a function that calls itself, or simplify the model";
            return Err(above_limit(found, help));
        }
        if let Some(wrong) = undeclared(function, &node.proto) {
            return Err(wrong);
        }
        // the limit is checked before the body is copied
        nested += copied_by_reference(function, &node.proto);
        nested += function.node.iter().map(nodes_of).sum::<usize>() - function.node.len();
        if *count + waiting.len() + function.node.len() + nested > MOST_NODES_IN_FILE {
            return Err(too_many_nodes());
        }
        bytes += function.node.iter().map(Message::encoded_len).sum::<usize>();
        if bytes > MOST_CALLED {
            let found = format!(
                "functions of more than {} MiB, each counted at each call",
                MOST_CALLED >> 20
            );
            return Err(above_limit(found, "let functions take their tensors as inputs"));
        }
        let mut imported = Versions::clone(versions);
        imported.extend(self::versions(&function.opset_import).0);
        let imported = Arc::new(imported);
        let body = called(function, &node, calls);
        calls += 1;
        let body = body.into_iter().enumerate().map(|(index, proto)| {
            let (version, function) = (version_in(&proto, &imported), Some(key.1.clone()));
            let versions = imported.clone();
            (OnnxNode { version, proto, index, function, versions }, depth + 1)
        });
        let body: Vec<_> = body.collect();
        waiting.extend(body.into_iter().rev());
    }
    Ok(done)
}

/// The attribute of the function that an attribute in its body refers to.
fn reference(attribute: &AttributeProto) -> Option<&str> {
    attribute.ref_attr_name.as_deref().filter(|name| !name.is_empty())
}

/// An upper limit of the number of nodes that references to graphs copy into the body of a
/// function.
fn copied_by_reference(function: &FunctionProto, call: &NodeProto) -> usize {
    fn references(node: &NodeProto) -> usize {
        let outermost = node.attribute.iter().filter_map(reference).count();
        outermost + graphs(node).flat_map(|graph| &graph.node).map(references).sum::<usize>()
    }
    let attributes = function.attribute_proto.iter().chain(&call.attribute);
    let graphs = attributes.flat_map(|given| given.g.iter().chain(&given.graphs));
    let nodes = graphs.map(|graph| graph.node.iter().map(nodes_of).sum()).max().unwrap_or(0);
    nodes.saturating_mul(function.node.iter().map(references).sum())
}

/// The body of a function for one call: inner names get a prefix unique to the call, and references
/// to attributes are replaced by the call's attributes, or else by the function's defaults.
fn called(function: &FunctionProto, call: &OnnxNode, number: usize) -> Vec<NodeProto> {
    let OnnxNode { proto: call, versions, .. } = call;
    let mut names: HashMap<String, String> = HashMap::new();
    for (at, formal) in function.input.iter().enumerate() {
        names.insert(formal.clone(), call.input.get(at).cloned().unwrap_or_default());
    }
    for (formal, actual) in function.output.iter().zip(&call.output) {
        if !actual.is_empty() {
            names.insert(formal.clone(), actual.clone());
        }
    }
    let mut attributes = HashMap::new();
    for (given, is_default) in [(&function.attribute_proto, true), (&call.attribute, false)] {
        for attribute in given {
            let name = attribute.name.as_deref().unwrap_or_default();
            attributes.insert(name, (attribute, is_default));
        }
    }
    let prefix = format!("{}.{number}.", call.op_type.as_deref().unwrap_or_default());
    let mut body = CalledBody { names, attributes, versions, prefix, is_in_default: false };
    let mut nodes = function.node.clone();
    nodes.iter_mut().for_each(|node| body.node(node));
    nodes
}

/// The names and attributes in the body of a function for one call.
struct CalledBody<'a> {
    /// The names outside of the function, by the names in the function.
    names: HashMap<String, String>,
    /// By name: an attribute, and true if it is a default of the function.
    attributes: HashMap<&'a str, (&'a AttributeProto, bool)>,
    /// The operator sets of the caller.
    versions: &'a Arc<Versions>,
    /// The prefix of names that only the body has.
    prefix: String,
    /// True within a default graph. References to graphs are dropped there, because a default might
    /// contain itself.
    is_in_default: bool,
}

impl CalledBody<'_> {
    fn name(&mut self, name: &mut String) {
        if !name.is_empty() {
            let actual =
                self.names.entry(name.clone()).or_insert_with(|| format!("{}{name}", self.prefix));
            name.clone_from(actual);
        }
    }

    /// Renames the tensors of a node and of its nested graphs, and replaces references to
    /// attributes. A graph that the call passes keeps the names of the caller.
    fn node(&mut self, node: &mut NodeProto) {
        for name in node.input.iter_mut().chain(&mut node.output) {
            self.name(name);
        }
        node.attribute.retain_mut(|attribute| {
            let before = self.is_in_default;
            let is_own = match reference(attribute).map(|name| self.attributes.get(name)) {
                None => true,
                // an optional attribute omitted by the call is omitted in the body
                Some(None) => return false,
                Some(Some(&(given, _)))
                    if before && (given.g.is_some() || !given.graphs.is_empty()) =>
                {
                    return false;
                }
                Some(Some(&(given, is_default))) => {
                    self.is_in_default = is_default;
                    let name = attribute.name.take();
                    *attribute = AttributeProto { name, ..given.clone() };
                    let graphs = attribute.g.iter_mut().chain(&mut attribute.graphs);
                    let passed = graphs.filter(|_| !is_default);
                    passed.for_each(|graph| {
                        graph.versions.get_or_insert_with(|| self.versions.clone());
                    });
                    is_default
                }
            };
            if is_own {
                let graphs = attribute.g.iter_mut().chain(&mut attribute.graphs);
                graphs.for_each(|graph| self.graph(graph));
            }
            self.is_in_default = before;
            true
        });
    }

    /// Renames the tensors of a nested graph. The decoder's recursion limit bounds the nesting of
    /// the body, and that of a default graph in it.
    fn graph(&mut self, graph: &mut GraphProto) {
        let values = graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info);
        let sparse =
            graph.sparse_initializer.iter_mut().filter_map(|tensor| tensor.values.as_mut());
        let tensors = graph.initializer.iter_mut().chain(sparse).map(|tensor| &mut tensor.name);
        for name in values.map(|value| &mut value.name).chain(tensors).flatten() {
            self.name(name);
        }
        for node in &mut graph.node {
            self.node(node);
        }
    }
}

/// Names of the node's inputs, and all names read inside its nested graphs.
fn reads(node: &OnnxNode) -> Vec<&str> {
    let mut names: Vec<&str> = node.proto.input.iter().map(|name| &name[..]).collect();
    let mut waiting: Vec<&GraphProto> = graphs(&node.proto).collect();
    while let Some(graph) = waiting.pop() {
        for inner in &graph.node {
            names.extend(inner.input.iter().map(|name| &name[..]));
            waiting.extend(graphs(inner));
        }
        names.extend(graph.output.iter().filter_map(|value| value.name.as_deref()));
    }
    names
}

/// The nodes in topological order. The file's order is kept if it is topological already, and also
/// if the nodes form a cycle. Files out of order exist: converters to float16 append the
/// conversions of inputs at the end of a file.
fn ordered(nodes: &[OnnxNode]) -> Vec<&OnnxNode> {
    let mut made: HashMap<&str, usize> = HashMap::new();
    for (at, node) in nodes.iter().enumerate() {
        for name in node.proto.output.iter().filter(|name| !name.is_empty()) {
            made.entry(name).or_insert(at);
        }
    }
    let needs: Vec<HashSet<usize>> = nodes
        .iter()
        .map(|node| reads(node).into_iter().filter_map(|name| made.get(name).copied()).collect())
        .collect();
    let in_order =
        needs.iter().enumerate().all(|(at, needs)| needs.iter().all(|&other| other < at));
    if in_order {
        return nodes.iter().collect();
    }
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (at, needs) in needs.iter().enumerate() {
        needs.iter().for_each(|&other| readers[other].push(at));
    }
    let mut open: Vec<usize> = needs.iter().map(HashSet::len).collect();
    let mut ready: BTreeSet<usize> = (0..nodes.len()).filter(|&at| open[at] == 0).collect();
    let mut order = Vec::new();
    while let Some(at) = ready.pop_first() {
        order.push(&nodes[at]);
        for &reader in &readers[at] {
            open[reader] -= 1;
            if open[reader] == 0 {
                ready.insert(reader);
            }
        }
    }
    if order.len() == nodes.len() { order } else { nodes.iter().collect() }
}

/// The nodes with influence on the outputs in topological order, and all names read by these nodes
/// or by the graph's outputs.
pub(super) fn needed<'n>(
    nodes: &'n [OnnxNode],
    outputs: impl Iterator<Item = &'n str>,
) -> (Vec<&'n OnnxNode>, HashSet<&'n str>) {
    let mut wanted: HashSet<&str> = outputs.collect();
    let mut kept = Vec::new();
    for node in ordered(nodes).into_iter().rev() {
        if !node.proto.output.iter().any(|name| !name.is_empty() && wanted.contains(&name[..])) {
            continue;
        }
        kept.push(node);
        wanted.extend(reads(node));
    }
    kept.reverse();
    (kept, wanted)
}
