//! Where an output path leads: a regular file, or a device, pipe or open descriptor.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::folder_of;

/// Most symbolic links that are followed from one path.
const MOST_LINKS: usize = 40;

/// What an output path leads to once its symbolic links are followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A regular file, which may not exist yet: it is replaced as a whole.
    Regular(PathBuf),
    /// A device, a pipe, or a descriptor that is open already: it is written through.
    Through(PathBuf),
}

impl Place {
    /// Follows `path`.
    ///
    /// # Errors
    /// If `path` is a folder, its folder does not exist, or its links have no end.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            // The descriptor of `-o /dev/stdout > gru.rs` is a regular file that the shell opened:
            // a new file in its place would not reach the reader of the old one.
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

    /// A path without a file.
    fn absent(path: PathBuf) -> io::Result<Self> {
        let folder = folder_of(&path);
        if !folder.is_dir() {
            let why = format!("there is no folder {}", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        }
        Ok(Self::Regular(path))
    }
}
