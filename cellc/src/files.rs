//! Files that appear whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Error;
use crate::diagnostic::{Diagnostic, Origin, quoted};
use crate::emit::INTERFACE;

/// A file to write.
pub struct NewFile {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub bytes: Arc<Vec<u8>>,
}

/// Writes all files beside their places, then renames them into place in the order given.
///
/// # Errors
/// If one of them cannot be written. Then nothing of any is left, and what stood there before stands there still, unless
/// a rename failed after an earlier one had replaced a file.
pub fn write_all(files: &[NewFile]) -> Result<(), Error> {
    let mut unfinished = Vec::with_capacity(files.len());
    for NewFile { path, bytes } in files {
        // A rename could not put a file here, and would say so only after earlier files had been replaced.
        let cannot = |kind, why: String| Error::write(path, io::Error::new(kind, why));
        if path.is_dir() {
            return Err(cannot(io::ErrorKind::IsADirectory, "it is a folder".to_owned()));
        }
        let folder = folder_of(path);
        if !folder.is_dir() {
            return Err(cannot(io::ErrorKind::NotFound, format!("there is no folder {}", folder.display())));
        }
        unfinished.push(Unfinished::write(folder, bytes).map_err(|error| Error::write(path, error))?);
    }
    let mut created: Vec<&Path> = Vec::new();
    for (NewFile { path, .. }, unfinished) in files.iter().zip(unfinished) {
        let new = !path.exists();
        if let Err(error) = unfinished.rename(path) {
            for path in created {
                // The first failure is the one to report.
                _ = fs::remove_file(path);
            }
            return Err(Error::write(path, error));
        }
        if new {
            created.push(path);
        }
    }
    Ok(())
}

/// The file that is common to all models, to be written with `others`; `None` if it is there already.
///
/// # Errors
/// If one of the others has its name, or there is another file of its name.
pub fn common_interface(path: &Path, others: &[NewFile]) -> Result<Option<NewFile>, Diagnostic> {
    let refused = |found: &str, help: &str| {
        let found = format!("{}: {found}", quoted(&path.to_string_lossy()));
        Err(Diagnostic::error(Origin::Unknown, found).help(help))
    };
    let lower_case = |path: &Path| path.file_name().map(|name| name.to_ascii_lowercase());
    // a header of the same name in another folder would include itself
    if others.iter().any(|other| lower_case(&other.path) == lower_case(path)) {
        return refused("a file that belongs to the model has this name", "choose another name for one of them");
    }
    match fs::read_to_string(path) {
        // tools that keep files of text may have changed the ends of lines
        Ok(text) if text.lines().eq(INTERFACE.lines()) => Ok(None),
        Ok(_) => refused(
            "there is a file of this name that is not the common interface of this version of cellc",
            "choose another name; if another version of cellc wrote the file, delete it and generate all models again",
        ),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => refused(
            "there is a file of this name that is not the common interface of this version of cellc",
            "choose another name",
        ),
        // there is none; if it cannot be read, it cannot be written either, which is said then
        Err(_) => Ok(Some(NewFile { path: path.to_owned(), bytes: Arc::new(INTERFACE.into()) })),
    }
}

/// The folder that a file is in, also where its path names none.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// A file under a passing name; it goes away unless it is renamed.
struct Unfinished(Option<PathBuf>);

impl Unfinished {
    fn write(folder: &Path, bytes: &[u8]) -> io::Result<Self> {
        // Threads of one process may write to one folder; a process that died may have left a name behind.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        loop {
            let name = format!(".cellc-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let path = folder.join(name);
            match fs::File::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    let mut file = created?;
                    let unfinished = Self(Some(path));
                    file.write_all(bytes)?;
                    return Ok(unfinished);
                }
            }
        }
    }

    fn rename(mut self, to: &Path) -> io::Result<()> {
        if let Some(path) = &self.0 {
            fs::rename(path, to)?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // What went wrong has been reported; this is all that can be done about it.
            _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: PathBuf, text: &str) -> NewFile {
        NewFile { path, bytes: Arc::new(text.into()) }
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
        // A name left behind by a process that died.
        let next = at(&format!(".cellc-{}-0", process::id()));
        fs::write(&next, "left").unwrap();
        let long = "n".repeat(255);
        write_all(&[file(at("a"), "new"), file(at("b"), ""), file(at(&long), "long")]).unwrap();
        fs::remove_file(next).unwrap();
        assert_eq!(names(folder.path()), ["a", "b", &long]);
        assert_eq!(fs::read(at("a")).unwrap(), b"new");
    }

    #[test]
    fn nothing_is_left_of_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "old").unwrap();
        fs::create_dir(at("d")).unwrap();
        let too_long = "n".repeat(256);
        for (place, why) in [("d", "it is a folder"), ("no/such", "there is no folder"), (&too_long, "")] {
            let failed = write_all(&[file(at("b"), "new"), file(at(place), "new"), file(at("a"), "new")]);
            let text = failed.unwrap_err().to_string();
            assert!(text.contains(place) && text.contains("cannot be written") && text.contains(why), "{text}");
            assert_eq!(names(folder.path()), ["a", "d"]);
            assert_eq!(fs::read(at("a")).unwrap(), b"old");
        }
    }
}
