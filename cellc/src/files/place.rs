//! The target of an output path: a regular file, or a device, pipe or open descriptor.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::folder_of;

/// The most symbolic links followed from one path.
const MOST_LINKS: usize = 40;

/// The target of an output path after its symbolic links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputTarget {
    /// A regular file, existing or not. A new file replaces an existing one.
    Regular(PathBuf),
    /// A device, a pipe, or an open descriptor. The contents are written to the device, pipe or
    /// descriptor.
    Through(PathBuf),
}

impl OutputTarget {
    /// Follows the symbolic links of `path`.
    ///
    /// # Errors
    /// If `path` is a folder, if the folder of `path` is a file, or if more than `MOST_LINKS`
    /// links follow each other, as in a cycle.
    pub fn resolve(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            // The descriptor of `-o /dev/stdout > gru.rs` is a regular file opened by the shell: a
            // new file in its place would not reach the old file's reader.
            if ["/proc", "/dev/fd"].iter().any(|folder| path.starts_with(folder)) {
                return Ok(Self::Through(path));
            }
            let metadata = match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::absent(path),
                metadata => metadata?,
            };
            if metadata.is_dir() {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
            }
            if metadata.is_file() {
                return Ok(Self::Regular(path));
            }
            if !metadata.is_symlink() {
                return Ok(Self::Through(path));
            }
            path = folder_of(&path).join(fs::read_link(&path)?);
        }
        Err(io::Error::other(format!("it leads through more than {MOST_LINKS} symbolic links")))
    }

    /// The target of a path without a file. The folder of the path may be missing, too.
    fn absent(path: PathBuf) -> io::Result<Self> {
        let folder = folder_of(&path);
        if folder.exists() && !folder.is_dir() {
            let why = format!("{} is no folder", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotADirectory, why));
        }
        Ok(Self::Regular(path))
    }
}
