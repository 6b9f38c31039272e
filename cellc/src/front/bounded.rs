//! Reads regular files and pipes up to a limit, and refuses files of other kinds.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::Path;

/// Largest size of a kind of file.
#[derive(Debug)]
pub(crate) struct Limit {
    /// The kind of file, in messages.
    pub(crate) file_kind: &'static str,
    /// Bytes.
    pub(crate) bytes: u64,
}

impl Limit {
    /// The error for a file above the limit.
    pub(crate) fn exceeded(&self, found: Option<u64>) -> io::Error {
        let found =
            found.map_or_else(|| "it has more".to_owned(), |bytes| format!("it has {bytes} bytes"));
        let limit = match self.bytes {
            bytes if bytes % (1 << 30) == 0 => format!("{} GiB", bytes >> 30),
            bytes if bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
            bytes => format!("{bytes} bytes"),
        };
        io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("{found}; the limit for {} is {limit}", self.file_kind),
        )
    }
}

/// Limit for files of weights.
pub(crate) const WEIGHTS: Limit = Limit { file_kind: "a file of weights", bytes: 4 << 30 };

/// Opens a regular file of at most `limit` bytes, or a pipe.
///
/// # Errors
/// If `path` cannot be opened, is neither a regular file nor a pipe, or is larger than the limit.
pub(crate) fn open(path: &Path, limit: &Limit) -> io::Result<File> {
    // Opening a device may have an effect, so the kind of file is checked first. The path may
    // change, so the opened file is checked again.
    check(&fs::metadata(path)?, limit)?;
    let file = File::open(path)?;
    check(&file.metadata()?, limit)?;
    Ok(file)
}

/// Reads a regular file or a pipe of at most `limit` bytes.
///
/// # Errors
/// As for [`open`], or if reading fails.
pub(crate) fn read(path: &Path, limit: &Limit) -> io::Result<Vec<u8>> {
    let file = open(path, limit)?;
    let mut bytes = Vec::new();
    // Nothing is reserved for a pipe: the length in its metadata is 0.
    bytes.try_reserve_exact(file.metadata()?.len() as usize)?;
    file.take(limit.bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit.bytes {
        return Err(limit.exceeded(None));
    }
    Ok(bytes)
}

fn check(metadata: &fs::Metadata, limit: &Limit) -> io::Result<()> {
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    if !metadata.is_file() && !is_pipe(metadata.file_type()) {
        return Err(io::Error::other("it is a device; regular files and pipes are read"));
    }
    if metadata.is_file() && metadata.len() > limit.bytes {
        return Err(limit.exceeded(Some(metadata.len())));
    }
    Ok(())
}

/// True for a pipe: reading ends when the writer closes the pipe.
fn is_pipe(file: FileType) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::FileTypeExt::is_fifo(&file);
    #[cfg(not(unix))]
    return !file.is_dir() && !file.is_symlink();
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limit = Limit { file_kind: "a test's file", bytes: 4 };

    fn refused(path: &Path) -> String {
        read(path, &SMALL).unwrap_err().to_string()
    }

    #[test]
    fn files_up_to_the_limit_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "1234").unwrap();
        assert_eq!(read(&path, &SMALL).unwrap(), b"1234");
        fs::write(&path, "12345").unwrap();
        assert_eq!(refused(&path), "it has 5 bytes; the limit for a test's file is 4 bytes");
        // sparse: reading it would take hours
        File::create(&path).unwrap().set_len(200 << 30).unwrap();
        assert!(refused(&path).contains("214748364800 bytes"));
        assert_eq!(refused(folder.path()), "it is a folder");
    }

    #[cfg(unix)]
    #[test]
    fn pipes_are_read_and_devices_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        for (text, read_back) in [("1234", true), ("12345", false)] {
            let writer = std::thread::spawn({
                let path = path.clone();
                move || fs::write(path, text)
            });
            assert_eq!(read(&path, &SMALL).is_ok(), read_back);
            // the reader of a pipe may have closed it before the end
            _ = writer.join().unwrap();
        }
        assert_eq!(
            refused(Path::new("/dev/zero")),
            "it is a device; regular files and pipes are read"
        );
    }
}
