//! A model from standard input or a pipe. It is copied to a file, because readers read the start of
//! a file twice.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::Failure;
use crate::diagnostic::{Diagnostic, Origin};
use crate::front::bounded::Limit;
use crate::temporary::folder::TemporaryFolder;

/// Limit for a model from a pipe, equal to the limit of an ONNX file.
const PIPED: Limit = Limit { file_kind: "a model from a pipe", bytes: 2 << 30 };

/// A model from a pipe, in a file removed on drop.
#[derive(Debug)]
pub(super) struct Piped {
    /// Removes the file when dropped.
    _folder: TemporaryFolder,
    /// The file.
    pub(super) path: PathBuf,
    /// The pipe in messages: its path, or `standard input`.
    pub(super) name: PathBuf,
}

/// Copies standard input, for `-`, or a pipe to a file. `None` for other paths.
pub(super) fn fetch(model: &Path) -> Result<Option<Piped>, Failure> {
    let (source, name): (Box<dyn Read>, String) = if model == Path::new("-") {
        (Box::new(io::stdin().lock()), "standard input".to_owned())
    } else if is_pipe(model) {
        let file =
            File::open(model).map_err(|error| cannot(&model.display().to_string(), &error))?;
        (Box::new(file), model.display().to_string())
    } else {
        return Ok(None);
    };
    let cannot = |error: io::Error| cannot(&name, &error);
    let folder = TemporaryFolder::new().map_err(cannot)?;
    let path = folder.path().join("model");
    let mut file = File::create(&path).map_err(cannot)?;
    let bytes = io::copy(&mut source.take(PIPED.bytes + 1), &mut file).map_err(cannot)?;
    if bytes == 0 {
        return Err(cannot(io::Error::new(io::ErrorKind::UnexpectedEof, "it is empty")));
    }
    if bytes > PIPED.bytes {
        return Err(cannot(PIPED.exceeded(None)));
    }
    drop(file);
    Ok(Some(Piped { _folder: folder, path, name: name.into() }))
}

fn cannot(name: &str, error: &io::Error) -> Failure {
    Diagnostic::error(Origin::Unknown, format!("{name} cannot be read: {error}")).into()
}

#[cfg(unix)]
pub(super) fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
}

#[cfg(not(unix))]
pub(super) fn is_pipe(_: &Path) -> bool {
    false
}
