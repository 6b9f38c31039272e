use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::content::Content;
use super::*;
use crate::front::model_file::ModelFile;
use crate::front::read_model::ReadModel;

/// A zip archive of empty files with these names.
fn zip(names: &[&str]) -> Vec<u8> {
    let (mut files, mut directory) = (Vec::new(), Vec::new());
    for name in names {
        let fixed = |signature: &[u8], before: usize, after: usize| {
            let len = (name.len() as u16).to_le_bytes();
            [signature, &vec![0; before], &len, &vec![0; after], name.as_bytes()].concat()
        };
        directory.extend(fixed(b"PK\x01\x02", 24, 16));
        files.extend(fixed(b"PK\x03\x04", 22, 2));
    }
    let number = |n: usize| (n as u32).to_le_bytes();
    let end =
        [&b"PK\x05\x06"[..], &[0; 8], &number(directory.len()), &number(files.len()), &[0; 2]]
            .concat();
    [files, directory, end].concat()
}

fn safetensors(header: &str) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat()
}

/// An ONNX model with the fields ir_version, producer_name, graph and opset_import.
const ONNX: &[u8] = b"\x08\x09\x12\x07pytorch\x3a\x03\x12\x01g\x42\x04\x0a\x00\x10\x11";

/// Fields with numbers that ONNX does not define, of every wire type: a varint, 8 bytes, a text, a
/// group that contains a graph (7) and a group, an empty group, 4 bytes.
const UNKNOWN: &[u8] = b"\xa0\x06\x96\x01\xa9\x0612345678\xb2\x06\x02ab\
\xbb\x06\x08\x05\x3a\x01g\xc3\x06\xc4\x06\xbc\x06\xcb\x06\xcc\x06\xd5\x061234";

struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn with(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The error for a file with these bytes, without the path of its folder.
    fn said(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        self.error(&self.with(name, bytes))
    }

    fn error(&self, path: &Path) -> String {
        let folder = format!("{}/", self.0.path().display());
        recognise(path).unwrap_err().to_string().replace(&folder, "")
    }
}

#[test]
fn content_says_what_a_file_is_whatever_its_name() {
    let files = Files::new();
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    // the examined start of the file ends within a character
    let accents = format!("a{}", "é".repeat(4000));
    let torch = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
    // the fields specificationVersion, description and neuralNetwork (500)
    let core_ml = b"\x08\x04\x12\x02\x0a\x00\xa2\x1f\x01\x00";
    let cases: &[(&[u8], Content)] = &[
        (b"", Content::Empty),
        (b"<?xml version=\"1.0\"?><net>", Content::Xml),
        (b"\xef\xbb\xbf  <net>", Content::Xml),
        (b"\xff\xfe<\0n\0", Content::Xml),
        (b" <!DOCTYPE html><p>", Content::WebPage),
        (
            b"\n{\"a\": {\"b\": 1}, \"c\\\"d\" : [\"e\"], \"f\"",
            Content::Json(vec!["a".into(), "c\\\"d".into()]),
        ),
        (&safetensors("{}"), Content::SafeTensors),
        (&safetensors("{\"__metadata__\":{}}")[..12], Content::CutSafeTensors(27, 12)),
        (ONNX, Content::Onnx),
        (&ONNX[..13], Content::CutOnnx),
        (&[UNKNOWN, ONNX].concat(), Content::Onnx),
        (&[ONNX, UNKNOWN].concat(), Content::Onnx),
        (&[ONNX, b"\xbb\x06\xb4\x06"].concat(), Content::Unknown),
        (core_ml, Content::CoreMl),
        (b"\x08\x01\x12\x02\x0a\x00", Content::SavedModel),
        (&zip(&["net/data.pkl", "net/constants.pkl", "net/version"]), Content::TorchScript),
        (&zip(&["archive/data.pkl", "archive/byteorder", "archive/version"]), Content::TorchSave),
        (&zip(&["net/archive_format", "net/models/model.json"]), Content::TorchExport),
        (&zip(&["serialized_exported_program.json", "version"]), Content::TorchExport),
        (&zip(&["metadata.json", "config.json", "model.weights.h5"]), Content::Keras),
        (&zip(&["a.npy", "b.npy"]), Content::Numpy),
        (&zip(&["amp.mlpackage/Manifest.json", "amp.mlpackage/Data/a.mlmodel"]), Content::CoreMl),
        (
            &zip(&["readme.txt", "pack/amp.nam"]),
            Content::Archive("unzip", vec!["readme.txt".into(), "pack/amp.nam".into()]),
        ),
        (&zip(&["readme.txt"]), Content::Archive("unzip", vec!["readme.txt".into()])),
        (&zip(&["readme.txt"])[..40], Content::CutZip),
        (torch, Content::TorchSave),
        (b"\x80\x04\x95....", Content::Pickle),
        (b"\x89HDF\r\n\x1a\n....", Content::Hdf5),
        (b"\x1c\0\0\0TFL3....", Content::TfLite),
        (b"\x30\0\0\0ORTM....", Content::Ort),
        (b"\x30\0\0\0ET12....", Content::ExecuTorch),
        (b"7767517\n3 3\nInput", Content::Ncnn),
        (b"\x93NUMPY\x01\0", Content::Numpy),
        (b"GGUF\x03\0\0\0", Content::Gguf),
        (b"\x1f\x8b\x08\0", Content::Compressed("gunzip -k")),
        (&tar, Content::Archive("tar xf", Vec::new())),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", Content::LfsPointer),
        (b"hello", Content::Text),
        (accents.as_bytes(), Content::Text),
        (b"\0\x01\x02\xff\xff\xff", Content::Unknown),
    ];
    for (i, (bytes, content)) in cases.iter().enumerate() {
        for name in ["a", "a.xml", "a.onnx"] {
            let path = files.with(name, bytes);
            assert_eq!(Content::read(&path).unwrap(), *content, "{i} {name}");
            assert_eq!(
                recognise(&path).is_ok(),
                matches!(
                    content,
                    Content::Xml | Content::Onnx | Content::SafeTensors | Content::Json(_)
                ) || name == "a.xml" && *content == Content::Text,
                "{i} {name}"
            );
        }
    }
}

#[test]
fn nothing_but_the_start_and_the_directory_is_looked_at() {
    use std::io::{Read, Seek, SeekFrom};
    /// A reader that counts the bytes read from a file.
    struct Counted<R>(R, u64);
    impl<R: Read> Read for Counted<R> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let read = self.0.read(to)?;
            self.1 += read as u64;
            Ok(read)
        }
    }
    impl<R: Seek> Seek for Counted<R> {
        fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
            self.0.seek(to)
        }
    }
    // a directory of more names than are examined, then end records with a damaged byte
    let names: Vec<String> = (0..30_000).map(|i| format!("{i:0>40}")).collect();
    let many = zip(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let mut file = Counted(std::io::Cursor::new(&many), 0);
    assert_eq!(archive::names(&mut file).unwrap().unwrap().len(), 4096);
    assert!(file.1 < (1 << 20) + (1 << 17), "{} bytes were read", file.1);
    for byte in 0..22 {
        let mut damaged = zip(&["a", "b"]);
        let at = damaged.len() - 22 + byte;
        damaged[at] = 0xff;
        _ = archive::names(&mut std::io::Cursor::new(damaged)).unwrap();
    }
    // more fields than are examined, then fields with invalid numbers or lengths
    let mut file = Counted(std::io::Cursor::new([8u8, 1].repeat(100_000)), 0);
    assert_eq!(protobuf::fields(&mut file).unwrap().unwrap().numbers.len(), 64);
    assert!(file.1 < 4096, "{} bytes were read", file.1);
    for text in [
        &b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"[..],
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x00\x00",
        b"\x08",
    ] {
        _ = protobuf::fields(&mut std::io::Cursor::new(text)).unwrap();
    }
}

/// The shell runs a printed command only if the command before it succeeds.
#[cfg(unix)]
#[test]
fn a_conversion_that_fails_compiles_nothing() {
    let files = Files::new();
    let script = files.said("amp.pt", zip(&["net/data.pkl", "net/constants.pkl"]));
    let lines: Vec<&str> = script.split("\n\n").nth(1).unwrap().lines().collect();
    let in_shell = lines
        .join("\n")
        .replace("pip install", "true")
        .replace("python3", "false")
        .replace("cellc", "echo");
    let shell = std::process::Command::new("sh").arg("-c").arg(in_shell).output();
    let output = shell.expect("a shell");
    assert!(!output.status.success() && output.stdout.is_empty(), "{script}");
}

/// The printed commands compile to the user's output, and save a model from a pipe first.
#[test]
fn lines_lead_to_the_output_that_was_asked_for() {
    let files = Files::new();
    let kinds: [(&str, Vec<u8>); 5] = [
        ("amp.pt", zip(&["net/data.pkl", "net/version"])),
        ("amp.keras", zip(&["config.json", "model.weights.h5"])),
        ("amp.tflite", b"\x1c\0\0\0TFL3".to_vec()),
        ("saved_model.pb", b"\x08\x01\x12\x02\x0a\x00".to_vec()),
        ("amp.json", b"{\"state_dict\": {}}".to_vec()),
    ];
    for (name, bytes) in kinds {
        let path = files.with(name, bytes);
        let of = |name: &Path, output: Option<&str>| {
            let file = ModelFile { path: &path, name, output: output.map(Path::new) };
            recognise(file).unwrap_err().to_string()
        };
        for output in ["out/my net.c", "-o.c", "-"] {
            let said = of(&path, Some(output));
            let end = match output {
                "-" => "-o -\n",
                "-o.c" => "-o ./-o.c\n",
                _ => "-o 'out/my net.c'\n",
            };
            assert!(said.ends_with(end) && !said.contains(".rs"), "{said}");
        }
        let piped = of(Path::new("standard input"), None);
        assert!(
            piped.starts_with("error: \"standard input\" is ") && !piped.contains("(\"standard"),
            "{piped}"
        );
        let folder = files.0.path().to_str().unwrap();
        assert!(
            piped.contains("save what came through the pipe") || name == "saved_model.pb",
            "{piped}"
        );
        assert!(!piped.contains(folder), "{piped}");
    }
}

#[test]
fn what_is_not_read_is_named_with_the_lines_that_convert_it() {
    let files = Files::new();
    let torch = zip(&["net/data.pkl", "net/version"]);
    let script = zip(&["net/data.pkl", "net/constants.pkl"]);
    let said = [
        files.said("amp.pt", script),
        files.said("amp.pth", torch),
        files.said("amp.pt2", zip(&["amp/archive_format"])),
        files.said("amp.keras", zip(&["config.json", "model.weights.h5"])),
        files.said("amp.h5", b"\x89HDF\r\n\x1a\n....model_config\0"),
        files.said("amp.weights.h5", b"\x89HDF\r\n\x1a\n"),
        files.said("amp.tflite", b"\x1c\0\0\0TFL3"),
        files.said("wakeword.tflite", tflite::model_of(&[9, 142, 143, 144])),
        files.said("weights.tflite", tflite::model_of(&[9, 142, 143])),
        files.said("amp.ort", b"\x30\0\0\0ORTM...."),
        files.said("amp.mnn", b"\x18\0\0\0\xff\xff"),
        files.said("net.json", "{\"state_dict\": {}}"),
        files.said("amp.json", "{\"model_data\": {\"skip\": 1}, \"state_dict\": {}}"),
        files.said("amp.zip", zip(&["pack/clean.nam"])),
        files.said("pointer.xml", "version https://git-lfs.github.com/spec/v1\n"),
    ];
    for (part, said) in said.chunks(8).enumerate() {
        insta::assert_snapshot!(format!("what_is_not_read_is_named_{part}"), said.join("\n"));
    }
}

#[test]
fn folders_and_files_of_no_format() {
    let files = Files::new();
    let folder = |name: &str, inside: &[&str]| {
        for file in inside {
            let content = match file.rsplit_once('.') {
                Some((_, "nam")) => "{\"architecture\": \"LSTM\"}",
                Some((_, "json")) => "{\"name\": \"a case\"}",
                Some((_, "onnx")) => str::from_utf8(ONNX).unwrap(),
                _ if file.starts_with("other") => "<svg>",
                _ => "<?xml version=\"1.0\"?><net>",
            };
            files.with(&format!("{name}/{file}"), content);
        }
        files.error(&files.0.path().join(name))
    };
    fs::create_dir(files.0.path().join("nothing")).unwrap();
    let said = [
        files.error(&files.0.path().join("nothing")),
        folder("one", &["model.xml", "model.bin"]),
        folder("several", &["a.xml", "b.nam", "case.json", "d.onnx", "other.xml", "readme.md"]),
        folder("others", &["case.json", "other.xml"]),
        folder("to_convert", &["case.json", "d.onnx"]),
        folder("saved", &["saved_model.pb", "variables/variables.index"]),
        folder("amp.mlpackage", &["Manifest.json", "Data/model.mlmodel"]),
        files.said("amp.onnx", "<!doctype html>"),
        files.said("cut.onnx", &ONNX[..13]),
        files.said("cut.pt", &zip(&["net/data.pkl"])[..30]),
        files.said("cut.safetensors", &safetensors("{\"__metadata__\":{}}")[..12]),
        files.said("empty.pt", ""),
        files.said("damaged.keras", b"\0\xff\xff"),
        files.said("one/model.bin", b"\0\xff\xff"),
        files.said("lone.bin", b"\0\xff\xff"),
        files.said("lone", b"\0\xff\xff"),
        files.error(&files.0.path().join("missing.nam")),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn weights_beside_a_file_that_has_its_own_are_refused() {
    let files = Files::new();
    let weights = files.with("w.bin", "");
    for (name, content) in
        [("a.nam", b"{\"architecture\": \"LSTM\"}".to_vec()), ("a.safetensors", safetensors("{}"))]
    {
        let path = files.with(name, content);
        assert!(!recognise(&path).unwrap().weights_apart);
        let said = read(&path, &ReadOptions::with_weights(Some(&weights))).unwrap_err().to_string();
        assert!(said.contains("w.bin\", and \"") && said.contains("has its own weights"), "{said}");
    }
    assert!(recognise(&files.with("a.xml", "<net>")).unwrap().weights_apart);
}

/// The length of the header stands before it, and may begin like a magic number: a pickle's is
/// 0x80 and the version.
#[test]
fn safetensors_are_recognised_for_every_length_of_the_header() {
    let files = Files::new();
    for len in [0x280, 0x380, 0x480, 0x580, 0x8b1f, 0x5a42] {
        let mut header = "{}".to_owned();
        header.extend(std::iter::repeat_n(' ', len - 2));
        let path = files.with("w.safetensors", safetensors(&header));
        assert_eq!(recognise(&path).unwrap().source, ModelSource::Declaration, "{len}");
    }
}

/// A `state_dict` whose tensors were written as lists.
#[test]
fn pytorchs_weights_may_be_json() {
    use crate::front::keys::{Key, KeyValue, Keys};

    let files = Files::new();
    let text = r#"{"rec.weight_ih_l0": [[1], [2], [3], [4]], "rec.weight_hh_l0": [[1], [1], [1], [1]], "rec.bias_ih_l0": [0, 0, 0, 0],
        "rec.bias_hh_l0": [0, 0, 0, 0], "lin.weight": [[0.5]], "lin.bias": [0.25]}"#;
    let path = files.with("weights.json", text);
    assert!(recognise(&path).unwrap().source == ModelSource::Declaration);
    let mut options = ReadOptions::default();
    let said = read(&path, &options).unwrap_err().to_string();
    assert!(
        said.contains("(--head lin); an LSTM of 1 unit")
            && said.contains("(--cell lstm --prefix rec)"),
        "{said}"
    );
    let mut keys = Keys::default();
    for (key, text) in [(Key::Cell, "lstm"), (Key::Prefix, "rec"), (Key::Head, "lin")] {
        keys.add(key, Some(KeyValue::parse(key, text).expect("a value of the key")));
    }
    options.keys = keys;
    let ReadModel { model, problems } =
        read(&path, &options).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(problems.to_string(), "");
    assert!(model.nodes.iter().any(|node| matches!(node.op, crate::model::Op::Cell(_))));
    let other = files.with("other.json", text.replace("[0.25]", "\"a\""));
    assert!(read(&other, &options).unwrap_err().to_string().contains("lin.bias"));
}

#[test]
fn names_are_quoted_for_shell_and_python() {
    let files = Files::new();
    let said = files.said("-it's \"$x\".pt", zip(&["net/data.pkl", "net/constants.pkl"]));
    assert!(said.contains("cellc './-it'\\''s \"$x\".onnx' -o './-it'\\''s \"$x\".rs'"), "{said}");
    assert!(said.contains("-it's \\\"$x\\\".pt\", map_location"), "{said}");
}
