//! Output files: written completely or not at all.

mod place;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Error;
use crate::diagnostic::{Diagnostic, Origin, quoted};
use crate::emit::INTERFACE;
use crate::front::bounded::{self, Limit};
use crate::temporary::{self, Unfinished};
pub use place::Place;

/// Limit for the file that is common to all models, where one exists.
const INTERFACE_LIMIT: Limit = Limit { what: "the common interface", bytes: 1 << 20 };

/// A file to write.
pub struct NewFile {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub bytes: Arc<Vec<u8>>,
}

/// Writes a set of files that belong together; the file that the user named comes last.
///
/// Regular files are written under temporary names and then renamed in the order given, with the
/// permissions of the files that they replace. A file with the same content is not touched. Symbolic
/// links are followed, and devices and pipes are written through.
///
/// # Errors
/// If a file cannot be written. Then every regular file is what it was before.
pub fn write_all(files: &[NewFile]) -> Result<(), Error> {
    let places = files.iter().map(|file| Place::of(&file.path)).collect::<Vec<_>>();
    let mut known = BTreeSet::new();
    // In reverse, as messages about a folder should name the file that the user named.
    let mut unfinished = Vec::with_capacity(files.len());
    for (NewFile { path, bytes }, place) in files.iter().zip(places).rev() {
        let place = place.map_err(|error| Error::write(path, error))?;
        if let Place::Regular(target) = place {
            if !known.insert(target.clone()) {
                return Err(Error::write(path, io::Error::other("another file is to be written to the same place")));
            }
            if !has_content(&target, bytes) {
                let folder = folder_of(&target);
                temporary::remove_stale_files(folder);
                let new = Unfinished::write(folder, &target, bytes).map_err(|error| Error::write(path, error))?;
                unfinished.push(Replacement { path, target, new });
            }
        } else if let Place::Through(target) = place {
            write_through(&target, bytes).map_err(|error| Error::write(path, error))?;
        }
    }
    unfinished.reverse();
    replace(&unfinished)
}

/// A file that is complete under its temporary name.
struct Replacement<'a> {
    /// The path that messages name.
    path: &'a Path,
    /// The path of the regular file.
    target: PathBuf,
    new: Unfinished,
}

/// Renames all files to their places. A signal does not interrupt the renames.
///
/// # Errors
/// If a rename fails. Then the files that were renamed before are what they were.
fn replace(files: &[Replacement<'_>]) -> Result<(), Error> {
    // One file has nothing to agree with.
    let kept: Vec<_> = match files {
        [_] => vec![None],
        _ => files.iter().map(|file| Unfinished::copy(folder_of(&file.target), &file.target).ok()).collect(),
    };
    let existed: Vec<_> = files.iter().map(|file| file.target.exists()).collect();
    let mut present = temporary::present();
    for (i, Replacement { path, target, new }) in files.iter().enumerate() {
        let Err(error) = new.rename(&mut present, target) else { continue };
        for (before, file) in files[..i].iter().enumerate() {
            // The first failure is the one to report.
            _ = match &kept[before] {
                Some(kept) => kept.rename(&mut present, &file.target),
                None if existed[before] => Ok(()),
                None => fs::remove_file(&file.target),
            };
        }
        drop(present);
        return Err(Error::write(*path, error));
    }
    drop(present);
    Ok(())
}

/// Whether a regular file exists and has these bytes.
fn has_content(path: &Path, bytes: &[u8]) -> bool {
    let same_length = fs::metadata(path).is_ok_and(|metadata| metadata.len() == bytes.len() as u64);
    same_length && fs::read(path).is_ok_and(|found| found == bytes)
}

/// Writes into a device, a pipe or an open descriptor.
pub fn write_through(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Appending: a descriptor may be one of a file that holds something already.
    fs::OpenOptions::new().append(true).open(path)?.write_all(bytes)
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
    if !path.is_file() {
        // a pipe would wait for a writer
        return Ok(Some(NewFile { path: path.to_owned(), bytes: Arc::new(INTERFACE.into()) }));
    }
    let text = bounded::read(path, &INTERFACE_LIMIT)
        .and_then(|bytes| String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)));
    match text {
        // tools that keep files of text may have changed the ends of lines
        Ok(text) if text.lines().eq(INTERFACE.lines()) => Ok(None),
        Ok(_) => refused(
            "there is a file of this name that is not the common interface of this version of cellc",
            "choose another name; if another version of cellc wrote the file, delete it and generate all models again",
        ),
        Err(error) if [io::ErrorKind::InvalidData, io::ErrorKind::FileTooLarge].contains(&error.kind()) => refused(
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
        // The name of a temporary file of a process that was killed.
        fs::write(at(".cellc-999999999-0"), "left").unwrap();
        let long = "n".repeat(255);
        write_all(&[file(at("a"), "new"), file(at("b"), ""), file(at(&long), "long")]).unwrap();
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

    #[test]
    fn a_failed_rename_undoes_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "old").unwrap();
        let replacement = |path: &'static str, target: PathBuf| {
            let new = Unfinished::write(folder.path(), &target, b"new").unwrap();
            Replacement { path: Path::new(path), target, new }
        };
        // A rename into a folder that does not exist fails.
        let files = [replacement("a", at("a")), replacement("b", at("b")), replacement("c", at("no/c"))];
        assert!(replace(&files).unwrap_err().to_string().starts_with("c cannot be written"));
        drop(files);
        assert_eq!(names(folder.path()), ["a"]);
        assert_eq!(fs::read(at("a")).unwrap(), b"old");
    }

    #[test]
    fn messages_name_the_file_that_was_asked_for() {
        let files = [file("no/such/a.h".into(), ""), file("no/such/a.c".into(), "")];
        let text = write_all(&files).unwrap_err().to_string();
        assert!(text.starts_with("no/such/a.c cannot be written"), "{text}");
        let folder = tempfile::tempdir().unwrap();
        let twice = [file(folder.path().join("a"), "1"), file(folder.path().join("./a"), "2")];
        assert!(write_all(&twice).unwrap_err().to_string().contains("the same place"));
    }

    #[cfg(unix)]
    mod on_unix {
        use std::io::Read;
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
        use std::process::Command;
        use std::thread;

        use super::*;

        #[test]
        fn links_are_followed() {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            fs::create_dir(at("d")).unwrap();
            fs::write(at("d/real"), "old").unwrap();
            symlink("d/real", at("second")).unwrap();
            symlink(at("second"), at("first")).unwrap();
            symlink("d/new", at("dangling")).unwrap();
            symlink("/dev/null", at("null")).unwrap();
            symlink("endless", at("endless")).unwrap();
            let all = ["first", "dangling", "null"];
            write_all(&all.map(|name| file(at(name), name))).unwrap();
            assert!(all.iter().all(|name| at(name).is_symlink()));
            assert_eq!(fs::read(at("d/real")).unwrap(), b"first");
            assert_eq!(fs::read(at("d/new")).unwrap(), b"dangling");
            assert_eq!(names(&at("d")), ["new", "real"]);
            let text = write_all(&[file(at("endless"), "")]).unwrap_err().to_string();
            assert!(text.contains("symbolic links"), "{text}");
        }

        #[test]
        fn devices_and_pipes_are_written_through() {
            let folder = tempfile::tempdir().unwrap();
            let pipe = folder.path().join("pipe");
            assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            let reader = thread::spawn({
                let pipe = pipe.clone();
                move || {
                    let mut read = String::new();
                    fs::File::open(pipe).unwrap().read_to_string(&mut read).unwrap();
                    read
                }
            });
            write_all(&[file(pipe.clone(), "text"), file("/dev/null".into(), "text")]).unwrap();
            assert_eq!(reader.join().unwrap(), "text");
            assert!(!fs::metadata(pipe).unwrap().is_file() && !fs::metadata("/dev/null").unwrap().is_file());
            if Path::new("/dev/full").exists() {
                let net = folder.path().join("net.h");
                let text =
                    write_all(&[file(net.clone(), ""), file("/dev/full".into(), "text")]).unwrap_err().to_string();
                assert!(text.starts_with("/dev/full cannot be written") && !net.exists(), "{text}");
            }
        }

        #[test]
        fn permissions_are_kept_and_equal_files_are_not_touched() {
            let folder = tempfile::tempdir().unwrap();
            let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
            for path in [&a, &b] {
                fs::write(path, "old").unwrap();
                fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
            }
            let before = fs::metadata(&b).unwrap();
            write_all(&[file(a.clone(), "new"), file(b.clone(), "old")]).unwrap();
            assert_eq!(fs::metadata(a).unwrap().mode() & 0o7777, 0o640);
            assert_eq!(fs::metadata(b).unwrap().ino(), before.ino());
        }
    }
}
