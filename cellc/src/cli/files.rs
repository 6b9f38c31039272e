//! Files that appear whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cellc::diagnostic::{Diagnostic, Origin};
use tempfile::TempPath;

/// A file to write.
pub(crate) struct NewFile {
    /// Where.
    pub(crate) path: PathBuf,
    /// What.
    pub(crate) bytes: Arc<Vec<u8>>,
}

/// Writes all files beside their places, then renames them into place in the order given.
///
/// When something fails, nothing of it is left: what stood there before stands there still, unless a later rename
/// failed after an earlier one had replaced a file.
pub(crate) fn write_all(files: Vec<NewFile>) -> Result<(), Diagnostic> {
    let mut written = Vec::with_capacity(files.len());
    for NewFile { path, bytes } in files {
        // A rename could not put a file here, and would say so only after earlier files had been replaced.
        if path.is_dir() {
            return Err(cannot_write(&path, "it is a folder"));
        }
        let folder = folder_of(&path);
        if !folder.is_dir() {
            return Err(cannot_write(&path, format_args!("there is no folder {}", folder.display())));
        }
        let temporary = write_beside(&path, &bytes).map_err(|error| cannot_write(&path, error))?;
        written.push((path, temporary));
    }
    let mut created: Vec<PathBuf> = Vec::new();
    for (path, temporary) in written {
        let new = !path.exists();
        if let Err(error) = temporary.persist(&path) {
            for path in created {
                // Nothing more can be done about a second failure than to report the first.
                _ = fs::remove_file(path);
            }
            return Err(cannot_write(&path, error.error));
        }
        if new {
            created.push(path);
        }
    }
    Ok(())
}

/// The folder that a path without one is in, too.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Writes to standard output. A reader that has read enough (`| head`) is no failure.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Diagnostic> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(cannot_write(Path::new("standard output"), error))
        }
        _ => Ok(()),
    }
}

/// That `path` cannot be written, and why.
pub(crate) fn cannot_write(path: &Path, why: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Origin::Unknown, format!("{}: cannot be written: {why}", path.display()))
}

fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<TempPath> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cellc-");
    // Temporary files are private by default; this one becomes an ordinary file (the umask still applies).
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder_of(path))?;
    file.write_all(bytes)?;
    // Closed: there may be more files than a process may hold open.
    Ok(file.into_temp_path())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: PathBuf, bytes: &[u8]) -> NewFile {
        NewFile { path, bytes: Arc::new(bytes.to_vec()) }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn all_files_appear() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "old").unwrap();
        write_all(vec![file(at("a"), b"new"), file(at("b"), b"")]).unwrap();
        assert_eq!(names(folder.path()), ["a", "b"]);
        assert_eq!(fs::read(at("a")).unwrap(), b"new");
    }

    #[test]
    #[cfg(unix)]
    fn others_may_read_them() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (ours, plain) = (folder.path().join("a"), folder.path().join("b"));
        write_all(vec![file(ours.clone(), b"")]).unwrap();
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }

    #[test]
    fn nothing_is_left_of_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "old").unwrap();
        fs::create_dir(at("d")).unwrap();
        for place in ["d", "no/such/folder"] {
            let error = write_all(vec![file(at("a"), b"new"), file(at("b"), b"new"), file(at(place), b"new")]);
            let text = error.unwrap_err().found;
            assert!(text.contains(place) && text.contains("cannot be written"), "{text}");
            assert_eq!(names(folder.path()), ["a", "d"]);
            assert_eq!(fs::read(at("a")).unwrap(), b"old");
        }
    }
}
