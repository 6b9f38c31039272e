//! Temporary folders for compilers and programs.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::{entries, is_abandoned, lock, present};

/// Start of the name of a temporary folder.
const FOLDER_PREFIX: &str = "cellc-";
/// Name of the lock file in a temporary folder, locked as long as the folder is in use.
const LOCK: &str = ".cellc-lock";

/// A temporary folder, removed when dropped.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    folder: tempfile::TempDir,
    /// Holds the lock.
    _lock: File,
}

impl TemporaryFolder {
    /// Removes the folders of killed processes, then makes a new folder.
    ///
    /// # Errors
    /// If no folder can be made.
    pub(crate) fn new() -> io::Result<Self> {
        remove_stale_folders(&std::env::temp_dir());
        loop {
            let mut present = present();
            let folder = tempfile::Builder::new().prefix(FOLDER_PREFIX).tempdir()?;
            present.insert(folder.path().to_owned());
            drop(present);
            let path = folder.path().join(LOCK);
            let lock_file = File::create_new(&path)?;
            // Another process may have removed the folder before it was locked.
            if lock(&lock_file) && path.exists() {
                return Ok(Self { folder, _lock: lock_file });
            }
        }
    }

    /// The folder's path.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // The field `folder` removes the folder when dropped.
        present().remove(self.folder.path());
    }
}

/// Removes the temporary folders of killed processes from `parent`.
fn remove_stale_folders(parent: &Path) {
    for path in entries(parent, |name| name.starts_with(FOLDER_PREFIX)) {
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        if is_folder && !present().contains(&path) && is_abandoned(&path.join(LOCK)) {
            _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_folders_are_removed_and_others_are_kept() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        for name in ["cellc-stale", "cellc-used", "cellc-unlocked", "other"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("net.c"), "").unwrap();
        }
        let [_, used, _] = ["cellc-stale", "cellc-used", "other"]
            .map(|name| File::create(at(name).join(LOCK)).unwrap());
        used.lock().unwrap();
        remove_stale_folders(parent.path());
        let mut remaining = entries(parent.path(), |_| true);
        remaining.sort();
        assert_eq!(remaining, ["cellc-unlocked", "cellc-used", "other"].map(at));
    }
}
