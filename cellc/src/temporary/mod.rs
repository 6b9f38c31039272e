//! Temporary files and folders. They are removed when the process ends, also by a signal.
//!
//! A temporary file is locked as long as its process lives. An unlocked temporary file was left by
//! a killed process: the next process to write to the folder removes the file.

#[cfg(feature = "report")]
pub(crate) mod folder;

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Start of the name of a temporary file, in the folder of its final place.
const FILE_PREFIX: &str = ".cellc-";
/// Paths to remove when a signal ends the process.
static PRESENT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Locks the list of temporary paths. A signal waits as long as the list is locked.
pub(crate) fn present() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PRESENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every temporary file and folder of this process. Afterwards, the process can make no
/// others: the list of temporary paths stays locked.
#[cfg(unix)]
pub(crate) fn remove_all() {
    // Compilers that are still running may add files to a folder while it is being removed.
    const ATTEMPTS: usize = 20;
    let mut present = present();
    for _ in 0..ATTEMPTS {
        present.retain(|path| remove(path).is_err());
        if present.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // The process ends here: nothing may be made or renamed any more.
    std::mem::forget(present);
}

/// Removes a file or a folder, if it exists.
#[cfg(unix)]
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    removed
        .or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// A file under a temporary name, removed when dropped unless renamed before.
pub(crate) struct Unfinished {
    path: PathBuf,
    /// Holds the lock.
    file: File,
}

impl Unfinished {
    /// Creates an empty file in `folder` under a new name, and locks the file.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        loop {
            // The list stays locked until it contains the file, so that a signal finds the file.
            let mut present = present();
            let path = folder.join(next_name());
            match File::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    let file = created?;
                    present.insert(path.clone());
                    drop(present);
                    let unfinished = Self { path, file };
                    // Another process may have removed the file before it was locked.
                    if lock(&unfinished.file) && unfinished.path.exists() {
                        return Ok(unfinished);
                    }
                }
            }
        }
    }

    /// Creates a file in `folder` with the content `bytes`. If the file `like` exists, the new file
    /// has the permissions of `like` (Unix only).
    pub(crate) fn write(folder: &Path, like: &Path, bytes: &[u8]) -> io::Result<Self> {
        let mut unfinished = Self::create(folder)?;
        #[cfg(unix)]
        if let Ok(metadata) = fs::metadata(like) {
            // An error is ignored: some file systems have no permissions.
            _ = unfinished.file.set_permissions(metadata.permissions());
        }
        #[cfg(not(unix))]
        let _ = like;
        unfinished.file.write_all(bytes)?;
        Ok(unfinished)
    }

    /// A hard link to the file at `path`, or else a copy of the file, under a temporary name in
    /// `folder`.
    pub(crate) fn copy(folder: &Path, path: &Path) -> io::Result<Self> {
        let mut unfinished = Self::create(folder)?;
        // Removing the empty file loses the lock, so the copy is locked again below.
        fs::remove_file(&unfinished.path)?;
        fs::hard_link(path, &unfinished.path)
            .or_else(|_| fs::copy(path, &unfinished.path).map(drop))?;
        unfinished.file = File::open(&unfinished.path)?;
        lock(&unfinished.file);
        Ok(unfinished)
    }

    /// Renames the file. The caller holds the list of temporary paths.
    pub(crate) fn rename(&self, present: &mut BTreeSet<PathBuf>, to: &Path) -> io::Result<()> {
        fs::rename(&self.path, to)?;
        present.remove(&self.path);
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // A renamed file is no longer in the list.
        if present().remove(&self.path) {
            // The file was not renamed, and the reason is reported elsewhere. If the removal fails,
            // nothing else can be done.
            _ = fs::remove_file(&self.path);
        }
    }
}

/// Locks a file. False if the lock is taken. True also on file systems without locks.
fn lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// `.cellc-PROCESS-NUMBER`
fn next_name() -> String {
    // A number for each file, since threads of one process may write to one folder.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("{FILE_PREFIX}{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// True if [`next_name`] can return the name.
fn is_temporary(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = name.strip_prefix(FILE_PREFIX).and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(process, count)| number(process) && number(count))
}

/// Removes the temporary files of killed processes from a folder.
pub(crate) fn remove_stale_files(folder: &Path) {
    for path in entries(folder, is_temporary) {
        let is_file = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
        if is_file && is_abandoned(&path) {
            _ = fs::remove_file(&path);
        }
    }
}

/// True if neither this process nor another one uses a temporary file: the process of the file has
/// ended.
fn is_abandoned(path: &Path) -> bool {
    // The lock is released on return, before the caller removes the file. A process that is just
    // creating the file checks after locking whether the file still exists.
    !present().contains(path) && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Paths in a folder whose names satisfy a condition; none if the folder cannot be read.
fn entries(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let wanted =
        |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(&wanted);
    entries.flatten().map(|entry| entry.path()).filter(wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_files_are_removed_and_others_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let used = Unfinished::create(folder.path()).unwrap();
        for name in
            [".cellc-1-0", ".cellc-999999999-12", ".cellc-1", ".cellc-a-0", "cellc-1-0", "net.c"]
        {
            fs::write(at(name), "left").unwrap();
        }
        fs::create_dir(at(".cellc-2-0")).unwrap();
        remove_stale_files(folder.path());
        let mut remaining: Vec<_> = entries(folder.path(), |_| true);
        remaining.sort();
        let mut expected =
            [".cellc-1", ".cellc-2-0", ".cellc-a-0", "cellc-1-0", "net.c"].map(at).to_vec();
        expected.push(used.path.clone());
        expected.sort();
        assert_eq!(remaining, expected);
        drop(used);
        assert_eq!(entries(folder.path(), is_temporary), [at(".cellc-2-0")]);
    }
}
