//! Recognition of files by content: first bytes, directory of a zip archive, outermost fields of a
//! protobuf message.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::{archive, protobuf};

/// Number of bytes examined at the start of a file.
const HEAD: usize = 4096;
/// The longest header of a `.safetensors` file, in bytes.
const LONGEST_TENSOR_HEADER: u64 = 100_000_000;
/// The most files examined in a folder.
const MOST_FILES: usize = 1000;

/// The kind of a file or folder.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::upper_case_acronyms)] // the formats' own names
pub(super) enum Content {
    Empty,
    /// XML, or UTF-16 text; the reader of OpenVINO IR decides.
    Xml,
    /// An object or a list of JSON. For an object: the outermost keys within the first [`HEAD`]
    /// bytes.
    Json(Vec<String>),
    SafeTensors,
    /// A truncated file: the length that its header needs, and the length of the file, in bytes.
    CutSafeTensors(u64, u64),
    Onnx,
    CutOnnx,
    TorchScript,
    /// A file of `torch.save`, of any version.
    TorchSave,
    TorchExport,
    Pickle,
    Keras,
    Hdf5,
    TfLite,
    /// A model of ONNX Runtime (.ort).
    Ort,
    /// A program of ExecuTorch (.pte).
    ExecuTorch,
    Ncnn,
    Mnn,
    CoreMl,
    SavedModel,
    FrozenGraph,
    Numpy,
    Gguf,
    WebPage,
    LfsPointer,
    /// A compressed file, and the command to decompress it.
    Compressed(&'static str),
    /// An archive: the command to unpack it, and the names of its files if known.
    Archive(&'static str, Vec<String>),
    /// A zip archive without its directory.
    CutZip,
    /// A folder, and the names of its files and folders.
    Folder(Vec<String>),
    /// Text of an unknown format.
    Text,
    Unknown,
}

/// Maximum size of a protobuf message in bytes.
const ONNX_LIMIT: u64 = 1 << 31;

/// The first [`HEAD`] bytes of a file.
pub(super) fn head(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD);
    file.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

impl Content {
    /// The content of a regular file or a folder.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        if path.is_dir() {
            return Self::of_folder(path);
        }
        // files of MNN have no magic number: the name decides if the content is unknown
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("mnn")) {
            return Self::of_file(path).map(|content| match content {
                Self::Unknown => Self::Mnn,
                content => content,
            });
        }
        Self::of_file(path)
    }

    fn of_file(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        let head = head(&mut file)?;
        // the reader of ONNX reports that the file is too large
        if len > ONNX_LIMIT
            && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("onnx"))
        {
            return Ok(Self::Onnx);
        }
        if let Some(content) = Self::by_magic(&head, len) {
            return Ok(content);
        }
        if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            return Ok(
                archive::names(&mut file)?.map_or(Self::CutZip, |names| Self::of_zip(&names))
            );
        }
        if let Some(content) = Self::of_text(&head) {
            return Ok(content);
        }
        let fields = protobuf::fields(&mut file)?;
        Ok(fields.and_then(|fields| Self::of_message(&fields)).unwrap_or_else(|| {
            match std::str::from_utf8(&head) {
                Ok(text) if !text.contains('\0') => Self::Text,
                // the end of the head may cut a character in two
                Err(error) if error.error_len().is_none() && !head.contains(&0) => Self::Text,
                _ => Self::Unknown,
            }
        }))
    }

    fn of_folder(path: &Path) -> io::Result<Self> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path)?.take(MOST_FILES) {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        let has = |name: &str| names.iter().any(|other| other == name);
        Ok(if has("saved_model.pb") || has("saved_model.pbtxt") {
            Self::SavedModel
        } else if has("coremldata.bin") || has("Manifest.json") && has("Data") {
            Self::CoreMl
        } else {
            Self::Folder(names)
        })
    }

    /// Recognition by magic number, or by the header length at the start of a `.safetensors` file.
    /// `len`: length of the file in bytes.
    fn by_magic(head: &[u8], len: u64) -> Option<Self> {
        // the magic number that old versions of torch.save pickle first
        const TORCH: &[u8] = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
        let at = |offset: usize, bytes: &[u8]| {
            head.get(offset..).is_some_and(|rest| rest.starts_with(bytes))
        };
        let header = head.first_chunk().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes));
        Some(match head {
            [] => Self::Empty,
            // first, as the length may begin like another format's magic number
            _ if at(8, b"{") && header <= LONGEST_TENSOR_HEADER => match header + 8 {
                needed if needed > len => Self::CutSafeTensors(needed, len),
                _ => Self::SafeTensors,
            },
            _ if at(0, b"\x89HDF\r\n\x1a\n") => Self::Hdf5,
            _ if at(4, b"TFL3") => Self::TfLite,
            _ if at(4, b"ORTM") => Self::Ort,
            _ if at(4, b"ET12") || at(4, b"ET13") => Self::ExecuTorch,
            // the magic number of ncnn's .param files
            _ if at(0, b"7767517\n") || at(0, b"7767517\r\n") => Self::Ncnn,
            _ if at(0, b"\x93NUMPY") => Self::Numpy,
            _ if at(0, b"GGUF") => Self::Gguf,
            _ if at(0, b"\x1f\x8b") => Self::Compressed("gunzip -k"),
            _ if at(0, b"BZh") => Self::Compressed("bunzip2 -k"),
            _ if at(0, b"\xfd7zXZ\0") => Self::Compressed("unxz -k"),
            _ if at(0, b"\x28\xb5\x2f\xfd") => Self::Compressed("unzstd"),
            _ if at(0, b"7z\xbc\xaf\x27\x1c") => Self::Archive("7z x", Vec::new()),
            _ if at(0, b"Rar!\x1a\x07") => Self::Archive("unrar x", Vec::new()),
            _ if at(257, b"ustar") => Self::Archive("tar xf", Vec::new()),
            _ if at(0, b"version https://git-lfs.github.com/spec/") => Self::LfsPointer,
            [0x80, 2..=5, rest @ ..] if rest.starts_with(TORCH) => Self::TorchSave,
            [0x80, 2..=5, ..] => Self::Pickle,
            _ => return None,
        })
    }

    fn of_zip(names: &[String]) -> Self {
        // PyTorch puts all files into a folder named after the archive
        let has = |wanted: &str| {
            names.iter().any(|name| {
                name == wanted || name.split_once('/').is_some_and(|(_, inner)| inner == wanted)
            })
        };
        if has("archive_format") || has("serialized_exported_program.json") {
            Self::TorchExport
        } else if has("data.pkl") {
            if has("constants.pkl") { Self::TorchScript } else { Self::TorchSave }
        } else if has("model.weights.h5") && has("config.json") {
            Self::Keras
        } else if names.iter().any(|name| name.ends_with(".mlmodel")) {
            Self::CoreMl
        } else if !names.is_empty() && names.iter().all(|name| name.ends_with(".npy")) {
            Self::Numpy
        } else {
            Self::Archive("unzip", names.to_vec())
        }
    }

    fn of_text(head: &[u8]) -> Option<Self> {
        let utf16 = [&b"\xff\xfe"[..], b"\xfe\xff", b"<\0", b"\0<"];
        if utf16.iter().any(|start| head.starts_with(start)) {
            return Some(Self::Xml);
        }
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        match text.first()? {
            b'<' => {
                let lower = String::from_utf8_lossy(text).to_lowercase();
                let page = lower.starts_with("<!doctype html") || lower.starts_with("<html");
                Some(if page { Self::WebPage } else { Self::Xml })
            }
            b'{' | b'[' => Some(Self::Json(keys(text))),
            _ => None,
        }
    }

    fn of_message(fields: &protobuf::Fields) -> Option<Self> {
        let version = fields.numbers.iter().find(|(field, _)| *field == 1).map(|(_, value)| *value);
        let has = |field: u64| fields.bytes.contains(&field);
        let numbers = || fields.numbers.iter().map(|(field, _)| field);
        let keys = || fields.bytes.iter().chain(numbers()).chain(&fields.other_fields);
        let onnx = |field: &u64| matches!(field, 1..=8 | 14 | 20 | 25 | 26);
        match version {
            // later versions of ONNX may add fields: a message with unknown fields must have
            // operator sets (field 8)
            Some(1..=1000) if has(7) && (has(8) || keys().all(onnx)) => {
                Some(if fields.cut { Self::CutOnnx } else { Self::Onnx })
            }
            // Core ML's field for the kind of model is numbered from 200 on
            Some(1..=1000) if fields.bytes.iter().any(|field| (200..=5000).contains(field)) => {
                Some(Self::CoreMl)
            }
            Some(1) if has(2) && keys().all(|field| *field <= 2) => Some(Self::SavedModel),
            None if has(1) && keys().all(|field| *field <= 4) && !fields.cut => {
                Some(Self::FrozenGraph)
            }
            _ => None,
        }
    }
}

/// The outermost keys of a JSON object whose text may be cut.
fn keys(text: &[u8]) -> Vec<String> {
    let mut keys = Vec::new();
    let mut depth = 0usize;
    let mut last: Option<&[u8]> = None;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = at;
                while let Some(&byte) = text.get(at) {
                    match byte {
                        b'\\' => at += 2,
                        b'"' => break,
                        _ => at += 1,
                    }
                }
                last = text.get(start..at);
                at += 1;
                continue;
            }
            b':' if depth == 1 => {
                keys.extend(last.map(|key| String::from_utf8_lossy(key).into_owned()))
            }
            byte if byte.is_ascii_whitespace() => continue,
            _ => {}
        }
        last = None;
    }
    keys
}
