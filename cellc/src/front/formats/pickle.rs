//! Names and shapes of the tensors in a file of `torch.save`, read from the file's pickle without
//! calling the functions that the pickle names.

use std::collections::HashMap;

/// The most stack and memo entries, a limit of memory for damaged pickles.
const MOST_VALUES: usize = 1 << 20;

/// The tensors of a checkpoint, and the path to their dictionary.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Checkpoint {
    /// Keys of the nested dictionaries around the tensors. Empty if the checkpoint is the
    /// dictionary of tensors.
    pub(super) keys: Vec<String>,
    /// Names and shapes in the order of the file.
    pub(super) tensors: Vec<(String, Vec<u64>)>,
    /// True if the saved value is an instance of a class, such as a whole module.
    pub(super) is_object: bool,
    /// True if the saved value is a single tensor, a list, a tuple, a number or a text.
    pub(super) is_without_tensors: bool,
    /// Classes and functions refused by `torch.load` with `weights_only=True`, without duplicates.
    pub(super) refused: Vec<String>,
}

/// A value of the pickle machine, reduced to names and shapes of tensors.
#[derive(Clone, Debug, PartialEq)]
enum Made {
    Mark,
    Text(String),
    Number(u64),
    /// The name of a class or a function.
    Global(String),
    Tuple(Vec<Made>),
    Dictionary(Vec<(Made, Made)>),
    Tensor(Vec<u64>),
    /// A list; its elements are dropped.
    List,
    /// An instance of a class other than tensors and dictionaries.
    Object,
    Other,
}

/// The checkpoint in a pickle. `None` for a damaged pickle, and for one with operations that
/// `torch.save` does not write.
pub(super) fn checkpoint(pickle: &[u8]) -> Option<Checkpoint> {
    let mut machine = Machine {
        bytes: pickle,
        at: 0,
        stack: Vec::new(),
        memo: HashMap::new(),
        globals: Vec::new(),
    };
    let made = machine.run()?;
    if made == Made::Object {
        return Some(Checkpoint { is_object: true, ..Checkpoint::default() });
    }
    let refused = machine.globals.into_iter().filter(|name| !is_of_weights(name)).collect();
    let mut keys = Vec::new();
    let tensors = first_tensors(&made, &mut keys).unwrap_or_default();
    let is_without_tensors = match &made {
        Made::Tensor(_) | Made::List | Made::Tuple(_) | Made::Number(_) | Made::Text(_) => true,
        Made::Dictionary(_) | Made::Mark | Made::Global(_) | Made::Object | Made::Other => false,
    };
    Some(Checkpoint { keys, tensors, is_object: false, is_without_tensors, refused })
}

/// True if `torch.load` accepts this class or function with `weights_only=True`.
fn is_of_weights(global: &str) -> bool {
    const OTHERS: [&str; 8] = [
        "collections.OrderedDict",
        "collections.Counter",
        "builtins.set",
        "builtins.bytearray",
        "builtins.complex",
        "_codecs.encode",
        "torch.nn.parameter.Parameter",
        "torch.serialization._get_layout",
    ];
    const BEGINNINGS: [&str; 5] = [
        "torch._utils._rebuild",
        "torch._tensor._rebuild",
        "torch.storage.",
        "torch.cuda.",
        "torch.sparse.",
    ];
    let is_type_of_torch = global.strip_prefix("torch.").is_some_and(|name| !name.contains('.'));
    is_type_of_torch
        || OTHERS.contains(&global)
        || BEGINNINGS.iter().any(|beginning| global.starts_with(beginning))
}

/// The first dictionary with tensors only, depth first. `keys` is extended by the keys on the path
/// to the found dictionary.
fn first_tensors(made: &Made, keys: &mut Vec<String>) -> Option<Vec<(String, Vec<u64>)>> {
    let Made::Dictionary(entries) = made else { return None };
    let tensors: Option<Vec<_>> = entries
        .iter()
        .map(|entry| match entry {
            (Made::Text(name), Made::Tensor(shape)) => Some((name.clone(), shape.clone())),
            _ => None,
        })
        .collect();
    if let Some(tensors) = tensors.filter(|tensors| !tensors.is_empty()) {
        return Some(tensors);
    }
    entries.iter().find_map(|(key, value)| {
        let Made::Text(key) = key else { return None };
        keys.push(key.clone());
        let found = first_tensors(value, keys);
        if found.is_none() {
            keys.pop();
        }
        found
    })
}

/// The stack machine of the pickle format, protocols 2 to 4.
struct Machine<'b> {
    bytes: &'b [u8],
    at: usize,
    stack: Vec<Made>,
    memo: HashMap<u64, Made>,
    /// Classes and functions named by the pickle, without duplicates.
    globals: Vec<String>,
}

impl Machine<'_> {
    fn run(&mut self) -> Option<Made> {
        loop {
            let operation = self.take(1)?[0];
            if operation == b'.' {
                return self.stack.pop();
            }
            self.step(operation)?;
            if self.stack.len() > MOST_VALUES || self.memo.len() > MOST_VALUES {
                return None;
            }
        }
    }

    fn step(&mut self, operation: u8) -> Option<()> {
        let made = match operation {
            0x80 => return self.take(1).map(drop),
            0x95 => return self.take(8).map(drop),
            b'(' => Made::Mark,
            b'X' => self.text(4)?,
            0x8c => self.text(1)?,
            b'J' => Made::Number(self.number(4)?),
            b'K' => Made::Number(self.number(1)?),
            b'M' => Made::Number(self.number(2)?),
            0x8a => self.long()?,
            b'G' => self.take(8).map(|_| Made::Other)?,
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.global(&module, &name)
            }
            0x93 => {
                let name = self.stack.pop()?;
                let module = self.stack.pop()?;
                let (Made::Text(module), Made::Text(name)) = (module, name) else { return None };
                self.global(&module, &name)
            }
            b')' => Made::Tuple(Vec::new()),
            b']' => Made::List,
            b'}' => Made::Dictionary(Vec::new()),
            b'N' | 0x88 | 0x89 => Made::Other,
            b't' => Made::Tuple(self.pop_to_mark()?),
            0x85..=0x87 => {
                let first = self.stack.len().checked_sub(usize::from(operation - 0x84))?;
                Made::Tuple(self.stack.split_off(first))
            }
            b'Q' => {
                self.stack.pop()?;
                Made::Other
            }
            b'R' | 0x81 => {
                let arguments = self.stack.pop()?;
                let callable = self.stack.pop()?;
                called(&callable, arguments)
            }
            b'q' | b'r' | 0x94 => return self.memoise(operation),
            b'h' => self.recalled(1)?,
            b'j' => self.recalled(4)?,
            _ => return self.grow_last(operation),
        };
        self.stack.push(made);
        Some(())
    }

    /// Executes an operation that pushes no value: it adds entries to a dictionary or a list, sets
    /// the state of an object, or pops a value.
    fn grow_last(&mut self, operation: u8) -> Option<()> {
        match operation {
            b's' => {
                let value = self.stack.pop()?;
                let key = self.stack.pop()?;
                self.add(vec![key, value])
            }
            b'u' => {
                let entries = self.pop_to_mark()?;
                self.add(entries)
            }
            b'a' | b'b' | b'0' => self.stack.pop().map(drop),
            b'e' => self.pop_to_mark().map(drop),
            _ => None,
        }
    }

    fn add(&mut self, entries: Vec<Made>) -> Option<()> {
        let last = self.stack.last_mut()?;
        if let Made::Dictionary(all) = last {
            let mut entries = entries.into_iter();
            while let (Some(key), Some(value)) = (entries.next(), entries.next()) {
                all.push((key, value));
            }
        }
        Some(())
    }

    fn memoise(&mut self, operation: u8) -> Option<()> {
        let memo_index = match operation {
            b'q' => self.number(1)?,
            b'r' => self.number(4)?,
            _ => self.memo.len() as u64,
        };
        // a dictionary may still grow, so the memo gets a placeholder instead of an incomplete copy
        let made = match self.stack.last()? {
            Made::Dictionary(_) => Made::Other,
            made => made.clone(),
        };
        self.memo.insert(memo_index, made);
        Some(())
    }

    fn recalled(&mut self, len: usize) -> Option<Made> {
        let memo_index = self.number(len)?;
        self.memo.get(&memo_index).cloned()
    }

    fn pop_to_mark(&mut self) -> Option<Vec<Made>> {
        let mark = self.stack.iter().rposition(|made| *made == Made::Mark)?;
        let values = self.stack.split_off(mark + 1);
        self.stack.pop();
        Some(values)
    }

    fn take(&mut self, len: usize) -> Option<&[u8]> {
        let bytes = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(bytes)
    }

    fn number(&mut self, len: usize) -> Option<u64> {
        Some(self.take(len)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn long(&mut self) -> Option<Made> {
        let len = usize::from(self.take(1)?[0]);
        let bytes = self.take(len)?;
        Some(match bytes.len() {
            0..=8 => Made::Number(
                bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)),
            ),
            _ => Made::Other,
        })
    }

    fn text(&mut self, len: usize) -> Option<Made> {
        let len = usize::try_from(self.number(len)?).ok()?;
        Some(Made::Text(String::from_utf8_lossy(self.take(len)?).into_owned()))
    }

    /// The text up to the end of the line.
    fn line(&mut self) -> Option<String> {
        let len = self.bytes.get(self.at..)?.iter().position(|&byte| byte == b'\n')?;
        let text = String::from_utf8_lossy(self.take(len)?).into_owned();
        self.take(1)?;
        Some(text)
    }

    fn global(&mut self, module: &str, name: &str) -> Made {
        let global = format!("{module}.{name}");
        if !self.globals.contains(&global) {
            self.globals.push(global.clone());
        }
        Made::Global(global)
    }
}

/// The result of calling a class or function.
fn called(callable: &Made, arguments: Made) -> Made {
    let (Made::Global(name), Made::Tuple(arguments)) = (callable, arguments) else {
        return Made::Other;
    };
    let size = |made: &Made| if let Made::Number(size) = made { Some(*size) } else { None };
    match (&name[..], &arguments[..]) {
        ("collections.OrderedDict", _) => Made::Dictionary(Vec::new()),
        (
            "torch._utils._rebuild_tensor_v2" | "torch._utils._rebuild_tensor",
            [_, _, Made::Tuple(shape), ..],
        ) => shape.iter().map(size).collect::<Option<Vec<u64>>>().map_or(Made::Other, Made::Tensor),
        ("torch._utils._rebuild_parameter", [tensor @ Made::Tensor(_), ..]) => tensor.clone(),
        (name, _) if !name.starts_with("torch.") && !name.starts_with("numpy.") => Made::Object,
        (name, _) if name.starts_with("torch.nn.modules") => Made::Object,
        _ => Made::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{name: tensor of shape (8, 2), "n": 7}` as torch.save writes it, in protocol 2.
    fn pickle(name: &str, around: Option<&str>) -> Vec<u8> {
        let text =
            |text: &str| [&b"X"[..], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
        let tensor =
            b"ctorch._utils\n_rebuild_tensor_v2\nq\x01((X\x01\x00\x00\x000tQK\x00K\x08K\x02\x86\
            K\x02K\x01\x86\x89ccollections\nOrderedDict\n)RtR";
        let inner = [&b"ccollections\nOrderedDict\n)R("[..], &text(name), tensor, b"u"].concat();
        let content = match around {
            None => inner,
            Some(key) => [&b"}("[..], &text("n"), b"K\x07", &text(key), &inner, b"u"].concat(),
        };
        [&b"\x80\x02"[..], &content, b"."].concat()
    }

    #[test]
    fn tensors_are_found_at_the_top_and_in_the_first_dictionary_of_tensors() {
        let tensors = vec![("rec.weight_ih_l0".to_owned(), vec![8, 2])];
        for (around, keys) in
            [(None, vec![]), (Some("model_state"), vec!["model_state".to_owned()])]
        {
            let found =
                checkpoint(&pickle("rec.weight_ih_l0", around)).expect("it is one of torch.save");
            assert_eq!((found.tensors, found.keys), (tensors.clone(), keys));
        }
    }

    #[test]
    fn what_has_no_tensors_by_name_is_known() {
        for (pickle, is_without) in [
            (&b"\x80\x02]q\x00."[..], true),
            (b"\x80\x02K\x01.", true),
            (b"\x80\x02X\x01\x00\x00\x00a.", true),
            (b"\x80\x02}q\x00.", false),
        ] {
            assert_eq!(
                checkpoint(pickle).map(|found| found.is_without_tensors),
                Some(is_without),
                "{pickle:?}"
            );
        }
        let tensors = pickle("rec.weight_ih_l0", None);
        assert!(!checkpoint(&tensors).expect("tensors").is_without_tensors);
    }

    /// Classes that PyTorch loads with `weights_only=True` are not reported.
    #[test]
    fn classes_that_pytorch_refuses_among_weights_are_named() {
        let refused = |pickle: &[u8]| checkpoint(pickle).expect("a dictionary").refused;
        assert_eq!(refused(&pickle("rec.weight_ih_l0", Some("net"))), [""; 0]);
        let scalar = b"\x80\x02}X\x01\x00\x00\x00ncnumpy._core.multiarray\nscalar\n(K\x01tRs.";
        assert_eq!(refused(scalar), ["numpy._core.multiarray.scalar"]);
    }

    #[test]
    fn objects_are_known_and_damage_is_no_panic() {
        let object = checkpoint(b"\x80\x02c__main__\nNet\n)\x81}X\x01\x00\x00\x00aK\x01sb.")
            .expect("an object");
        assert!(object.is_object);
        let whole = pickle("a", Some("b"));
        for end in 0..whole.len() {
            _ = checkpoint(&whole[..end]);
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            _ = checkpoint(&damaged);
        }
    }
}
