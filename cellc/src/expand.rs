//! The expansion of the macros, from the tokens of a call to the generated module.

use std::env;
use std::path::{Path, PathBuf};

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;

use crate::compilation::Compilation;
use crate::compile::{self, compile};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Setting, Severity, method, method_name};
use crate::emit::names::Interface;
use crate::front::declaration::{self, Declaration, Parsed, TokenTable};
use crate::front::formats::{self, ReadOptions};
use crate::front::keys::Key;
use crate::front::keys::{Macro, Spanned};
use crate::front::layer::Declared;
use crate::front::layer::apple::reset_gate;
use crate::front::read_model::ReadModel;
use crate::front::safetensors;
use crate::model::Model;
use crate::request::Options;

/// The name of a setting for users of macros.
fn key(setting: &Setting) -> String {
    if let Setting::Flag(names) = setting
        && Key::of_macros().any(|key| key.name() == names.key())
    {
        return format!("`{}`", names.key());
    }
    match (setting, method(setting)) {
        (Setting::Weights | Setting::TensorFile, _) => "`weights`".to_owned(),
        (Setting::BatchOf(rows), _) => format!("`batch = {rows}`"),
        (Setting::ConstantOf(..), _) => format!("`{}`", Key::Const.name()),
        (Setting::Key { name: "cell", .. }, _) => "the cell".to_owned(),
        (Setting::Key { name, .. }, _) => format!("`{name}`"),
        // no macro has a key for other settings: name the call of Builder
        (_, Some(call)) => format!("`.{call}` of cellc::Builder"),
        (_, None) => format!("`cellc::Builder::{}`", method_name(setting)),
    }
}

/// Expands a macro call: the module with the generated code and the type, or one `compile_error!`
/// for each error, at its key.
pub fn expand(called: Macro, input: TokenStream) -> TokenStream {
    let Parsed { declaration, tokens, mut problems } = declaration::parse(called, input);
    let Some(declaration) = declaration else {
        return errors(&problems, &tokens, &Origin::Token(0));
    };
    let origin = declaration.model_file().or(declaration.tensor_file());
    let origin = origin.map_or(Origin::Token(0), |file| file.origin);
    let compiled = compiled(&declaration, &mut problems);
    let Some(compilation) = compiled.filter(|_| !problems.has_errors()) else {
        return errors(&problems, &tokens, &origin);
    };
    let interface = &compilation.interface;
    let module = module_name(&declaration.name, interface);
    if declaration.name == module {
        let found = format!("`{module}` is what the module of the generated code will be called");
        let valid = format!("the name of a type: {}", interface.type_name);
        let taken = Diagnostic::error(Origin::Token(0), found).valid(valid);
        return errors(&Diagnostics(vec![taken]), &tokens, &origin);
    }
    let body = with_attributes(compilation.tokens(), &interface.type_name, &declaration.attributes);
    let warnings = warnings(&problems, &tokens, &origin);
    let read: Vec<_> = compilation.model.files.iter().map(|file| &file.name[..]).collect();
    let item = item(&declaration, &read, (&module, &interface.type_name), body);
    quote!(#item #warnings)
}

/// The name of the module: the function prefix of generated code for an ASCII name; else the
/// declared name in snake_case, with its letters beyond ASCII.
fn module_name(name: &Ident, interface: &Interface) -> String {
    let name = name.unraw().to_string();
    if name.is_ascii() {
        return interface.function.clone();
    }
    let mut module = String::new();
    let mut after_small = false;
    for c in name.chars() {
        if c.is_uppercase() && after_small {
            module.push('_');
        }
        after_small = c.is_lowercase() || c.is_numeric();
        module.extend(c.to_lowercase());
    }
    module
}

/// Compiles the declared model. `None` after an error.
fn compiled(declaration: &Declaration, problems: &mut Diagnostics) -> Option<Compilation> {
    let (model, options) = match declaration.model_file() {
        None if !declaration.readable => return None,
        None => {
            let declared = match declaration.tensor_file() {
                None => declaration.declared(None)?,
                Some(file) => with_tensors(declaration, &file, problems)?,
            };
            let model = match declared.model() {
                Ok(read) => {
                    problems.extend(read.problems);
                    read.model
                }
                Err(wrong) => {
                    problems.extend(wrong);
                    return None;
                }
            };
            (model, declaration.options.clone())
        }
        Some(_) if !declaration.readable => return None,
        Some(file) => {
            let weights = declaration.weights_file().map(|said| said.value);
            let model = read(&file.value, weights.as_deref(), &declaration.options, problems)?;
            let options = declaration.options_for(&model);
            (model, options)
        }
    };
    match compile(&model, &options) {
        Ok(mut compilation) => {
            problems.extend(std::mem::take(&mut compilation.warnings));
            problems.extend(declaration.check(&compilation.model));
            Some(compilation)
        }
        Err(refused) => {
            problems.extend(refused);
            None
        }
    }
}

fn read(
    model: &str,
    weights: Option<&str>,
    given: &Options,
    problems: &mut Diagnostics,
) -> Option<Model> {
    let (path, weights) = (shown(model), weights.map(shown));
    let options = ReadOptions {
        weights: weights.as_deref(),
        formats: Some(formats::of_macros()),
        ..ReadOptions::new(&given.bindings)
    };
    let read = compile::read(&path, &options);
    let (model, mut found) = match read {
        Ok(ReadModel { model, problems }) => (Some(model), problems),
        Err(refused) => (None, refused),
    };
    for problem in &mut found.0 {
        if !path.exists() {
            problem.help = Some("check the path: it starts at the folder of Cargo.toml".into());
        }
    }
    problems.extend(found);
    model
}

/// The declared layers, with weights from a file of tensors.
fn with_tensors(
    declaration: &Declaration,
    file: &Spanned<String>,
    problems: &mut Diagnostics,
) -> Option<Declared> {
    use crate::front::weights_file;

    let path = shown(&file.value);
    let declared =
        safetensors::read(&path).and_then(|tensors| match declaration.called.is_apple() {
            true => of_apple(declaration, file, &tensors),
            false => {
                // missing keys have been reported
                let keys = declaration.keys_of_file().ok_or_else(Diagnostics::default)?;
                let base = |_, hidden: Spanned<usize>, input: Spanned<usize>| {
                    declaration.declared(Some((hidden.value, input.value)))
                };
                let (declared, _) = weights_file::declare(&tensors, keys, base)?;
                match declaration.sequence_of_file(file, &declared) {
                    Some(problem) => Err(Diagnostics(vec![problem])),
                    None => Ok(declared),
                }
            }
        });
    let mut declared = match declared {
        Ok(declared) => declared,
        Err(mut refused) => {
            for problem in &mut refused.0 {
                if problem.origin == Origin::Unknown {
                    problem.origin = file.origin.clone();
                }
                if !path.exists() {
                    problem.help =
                        Some("check the path: it starts at the folder of Cargo.toml".into());
                }
            }
            problems.extend(refused);
            return None;
        }
    };
    if let Some(weights) = declared.weights.as_mut().filter(|said| said.origin == Origin::Unknown) {
        weights.origin = file.origin.clone();
    }
    if let Some(layers) =
        declared.keys.get::<usize>(Key::Layers).filter(|said| said.origin == Origin::Unknown)
    {
        declared.keys.set(Key::Layers, file.with(layers.value));
    }
    let bytes = declared.weights.as_ref().map_or(0, |said| said.value.len()).saturating_mul(4);
    if let Some(refused) = declaration::too_large(file, bytes) {
        problems.push(refused);
        return None;
    }
    Some(declared)
}

/// Apple's operation with the weights of a file.
fn of_apple(
    declaration: &Declaration,
    file: &Spanned<String>,
    tensors: &safetensors::TensorFile,
) -> Result<Declared, Diagnostics> {
    let prefix = declaration.keys.value::<String>(Key::Prefix);
    let selection =
        safetensors::Selection { prefix: prefix.as_deref(), ..safetensors::Selection::default() };
    let found = safetensors::apple(tensors, reset_gate(&declaration.keys), &selection)?;
    let mut problems =
        declaration.disagreements_with_tensors(file, found.hidden_size, found.input_size);
    let declared = declaration.declared(Some((found.hidden_size, found.input_size)));
    let Some(mut declared) = declared.filter(|_| !problems.has_errors()) else {
        return Err(problems);
    };
    declared.weights = Some(file.with(found.baked));
    problems.extend(declared.computed_as_by(crate::front::layout::Framework::Apple, &file.origin));
    if problems.has_errors() { Err(problems) } else { Ok(declared) }
}

/// The path of a file of the package, relative to the current folder if the folder contains the
/// file, so that messages stay short.
fn shown(file: &str) -> PathBuf {
    let path = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join(file);
    let folder = env::current_dir().unwrap_or_default();
    path.strip_prefix(folder).map(Path::to_path_buf).unwrap_or(path)
}

/// Puts the user's attributes, which precede the declaration, in front of the type in the generated
/// module.
fn with_attributes(module: TokenStream, type_name: &str, attributes: &TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = module.into_iter().collect();
    let is = |i: usize, text: &str| match tokens.get(i) {
        Some(TokenTree::Ident(ident)) => ident == text,
        _ => false,
    };
    let at =
        (0..tokens.len()).find(|&i| is(i, "pub") && is(i + 1, "struct") && is(i + 2, type_name));
    let mut at = at.expect("the generated module declares its type");
    // the attributes of the user come before the type's own attributes
    while at >= 2
        && matches!(&tokens[at - 1], TokenTree::Group(_))
        && matches!(&tokens[at - 2], TokenTree::Punct(punct) if punct.as_char() == '#')
    {
        at -= 2;
    }
    let (before, after) = tokens.split_at(at);
    let mut module: TokenStream = before.iter().cloned().collect();
    module.extend(attributes.clone());
    module.extend(after.iter().cloned());
    module
}

/// The module, the type's name outside the module, and an `include_bytes!` of each file, so that
/// the compiler expands the macro again when a file has changed. `read`: the model's file and the
/// files named by the model.
fn item(
    declaration: &Declaration,
    read: &[&str],
    (module, type_name): (&str, &str),
    body: TokenStream,
) -> TokenStream {
    let (visibility, name) = (&declaration.visibility, &declaration.name);
    let module = Ident::new(module, Span::call_site());
    let generated = Ident::new(type_name, Span::call_site());
    let doc = format!("What `{}` generated for `{name}`.", declaration.called.name());
    // outside of the module, the type has the declared name, even if generated code spells it in
    // another way
    let renamed = (*name != type_name).then(|| quote!(as #name));
    let item = if renamed.is_none() { name } else { &generated };
    let tracked = tracked(declaration, read).into_iter().map(|file| {
        quote!(
            const _: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/", #file));
        )
    });
    let unused = quote!(#[allow(unused_imports, reason = "a user can name the module's items by \
        the module")]);
    quote! {
        #[doc = #doc]
        #visibility mod #module {
            #body
            #(#tracked)*
        }
        #unused
        #visibility use #module::#item #renamed;
    }
}

/// The files of the model, or the file of tensors, relative to the folder of Cargo.toml.
fn tracked(declaration: &Declaration, read: &[&str]) -> Vec<String> {
    let Some(model) = declaration.model_file() else {
        return declaration.tensor_file().map(|file| file.value).into_iter().collect();
    };
    let weights = match declaration.weights_file() {
        Some(weights) => weights.value,
        None => Path::new(&model.value).with_extension("bin").to_string_lossy().into_owned(),
    };
    // a model whose weights are all given at run time has no file of weights
    let has_weights_file = shown(&weights).exists();
    let mut files: Vec<_> =
        std::iter::once(model.value.clone()).chain(has_weights_file.then_some(weights)).collect();
    let beside = read.iter().skip(1).map(|name| Path::new(&model.value).with_file_name(name));
    for file in beside.map(|path| path.to_string_lossy().into_owned()) {
        if !files.contains(&file) && shown(&file).exists() {
            files.push(file);
        }
    }
    files
}

fn of_severity(problems: &Diagnostics, severity: Severity) -> impl Iterator<Item = &Diagnostic> {
    problems.0.iter().filter(move |problem| problem.severity == severity)
}

/// The maximum number of reported errors. A file may hold any number of errors.
const MOST_ERRORS: usize = 50;

/// One `compile_error!` for each error. `origin`: the place for errors without a token.
fn errors(problems: &Diagnostics, tokens: &TokenTable, origin: &Origin) -> TokenStream {
    let error = |problem: &Diagnostic| {
        let at =
            tokens.get(&problem.origin).or_else(|| tokens.get(origin)).cloned().unwrap_or_default();
        syn::Error::new_spanned(at, message(problem)).into_compile_error()
    };
    let mut errors: TokenStream =
        of_severity(problems, Severity::Error).take(MOST_ERRORS).map(error).collect();
    let more = of_severity(problems, Severity::Error).count().saturating_sub(MOST_ERRORS);
    if more > 0 {
        errors.extend(error(&Diagnostic::error(
            origin.clone(),
            format!("and {}", crate::model::counted(more, "more problem")),
        )));
    }
    errors
}

/// A use of a deprecated function for each warning: macros cannot warn in another way.
fn warnings(problems: &Diagnostics, tokens: &TokenTable, origin: &Origin) -> TokenStream {
    let warning = |problem: &Diagnostic| {
        let at =
            tokens.get(&problem.origin).or_else(|| tokens.get(origin)).cloned().unwrap_or_default();
        let span = at.into_iter().next().map_or(Span::call_site(), |token| token.span());
        let note = message(problem);
        quote_spanned! {span=>
            const _: () = {
                #[deprecated(note = #note)]
                const fn warning_of_cellc() {}
                warning_of_cellc()
            };
        }
    };
    of_severity(problems, Severity::Warning).map(warning).collect()
}

fn message(problem: &Diagnostic) -> String {
    let problem = problem.clone().worded(key);
    if let Origin::Text { .. } = problem.origin {
        // the compiler adds the severity itself
        let text = problem.render();
        let text = text
            .strip_prefix("error: ")
            .or_else(|| text.strip_prefix("warning: "))
            .unwrap_or(&text);
        return text.trim_end().to_owned();
    }
    let mut message = problem.found.worded(key);
    for (what, text) in [("valid", &problem.valid), ("help", &problem.help)] {
        if let Some(text) = text {
            message.push_str(&format!("\n{what}: {}", text.worded(key)));
        }
    }
    if !problem.lines.is_empty() {
        message.push('\n');
        problem.push_lines(&mut message);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expansion of a call, as text.
    fn expanded(called: Macro, keys: &str) -> String {
        let text = format!("Net<weights = \"../examples/pytorch/model/net.safetensors\"{keys}>");
        expand(called, text.parse().expect("tokens")).to_string()
    }

    #[test]
    fn metadata_of_a_file_say_what_a_macro_need_not() {
        assert_eq!(
            expanded(Macro::GRU_CELL, ""),
            expanded(
                Macro::GRU_CELL,
                ", prefix = \"gru\", head = \"fc\", head_activation = sigmoid, input_size = 4"
            )
        );
        for (called, keys, found) in [
            (Macro::GRU_CELL, ", head = \"out\"", "`head` is out here and fc in the metadata of"),
            (Macro::GRU_CELL, ", skip = true", "`skip` adds 4 inputs to 1 output"),
            (Macro::LSTM_CELL, "", "the cell is lstm here and gru in the metadata of"),
            (Macro::GRU_CELL, ", gate_order = icfo", "`gate_order` is icfo, and the cell is gru"),
            (Macro::GRU_CELL, ", hidden_size = 15", "`hidden_size` is 15 here and 16 in"),
            (Macro::APPLE_GRU, ", steps = 3", "have the key"),
        ] {
            let text = expanded(called, keys);
            assert!(
                text.contains("compile_error") && text.contains(found),
                "{keys}: {found} is not in {text}"
            );
        }
    }
}
