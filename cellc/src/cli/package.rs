//! `cellc net.onnx --package zephyr DIR`: a folder that a firmware's build system takes as a
//! component. The folder holds the C of the network, and files that describe the network to the
//! build system.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;

use super::Failure;
use crate::files::NewFile;
use crate::model::InputFile;

/// A build system for firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum BuildSystem {
    /// A module of Zephyr.
    Zephyr,
    /// A component of ESP-IDF.
    EspIdf,
    /// A pack of CMSIS.
    CmsisPack,
    /// A library of Arduino.
    Arduino,
}

/// A folder to write, and the build system that takes the folder.
#[derive(Clone, Debug)]
pub(super) struct Package {
    build_system: BuildSystem,
    folder: PathBuf,
}

/// A file that describes the network to a build system: path in the folder, and text. NAME, UPPER,
/// ABOUT and VERSION are replaced in path and text.
type Template = (&'static str, &'static str);

const ZEPHYR: &[Template] = &[
    ("zephyr/module.yml", include_str!("package/zephyr_module.yml")),
    ("zephyr/CMakeLists.txt", include_str!("package/zephyr_CMakeLists.txt")),
    ("zephyr/Kconfig", include_str!("package/zephyr_Kconfig")),
];
const ESP_IDF: &[Template] = &[
    ("CMakeLists.txt", include_str!("package/esp_idf_CMakeLists.txt")),
    ("idf_component.yml", include_str!("package/esp_idf_component.yml")),
];
const CMSIS: &[Template] = &[("cellc.NAME.pdsc", include_str!("package/cmsis.pdsc"))];
const ARDUINO: &[Template] =
    &[("library.properties", include_str!("package/arduino_library.properties"))];

impl BuildSystem {
    /// The subfolder for the C sources, and the files that describe the network to the build
    /// system.
    fn layout(self) -> (&'static str, &'static [Template]) {
        match self {
            Self::Zephyr => ("src", ZEPHYR),
            Self::EspIdf => ("", ESP_IDF),
            Self::CmsisPack => ("src", CMSIS),
            Self::Arduino => ("src", ARDUINO),
        }
    }
}

impl Package {
    /// The package given by `--package KIND DIR`. `None` without the option.
    ///
    /// # Errors
    /// If KIND is no build system.
    pub(super) fn given(values: &[PathBuf]) -> Result<Option<Self>, Failure> {
        let [kind, folder] = values else { return Ok(None) };
        let kind = kind.to_string_lossy();
        let known = BuildSystem::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let known: Vec<_> = known.map(|value| value.get_name().to_owned()).collect();
        match BuildSystem::from_str(&kind, false) {
            Ok(build_system) => Ok(Some(Self { build_system, folder: folder.clone() })),
            Err(_) => Err(Failure::Usage(format!(
                "--package {kind}: the first value is one of {}, the second the folder to write",
                known.join(", ")
            ))),
        }
    }

    /// The path of the C source of a network with this prefix.
    pub(super) fn source(&self, prefix: &str) -> PathBuf {
        let (folder, _) = self.build_system.layout();
        self.folder.join(folder).join(format!("{prefix}.c"))
    }

    /// The files that describe the network to the build system. `read`: the files of the model.
    pub(super) fn descriptions(&self, source: &Path, read: &[InputFile]) -> Vec<NewFile> {
        let name = source.file_stem().unwrap_or_default().to_string_lossy();
        let about = about(read);
        let upper = name.to_ascii_uppercase();
        let filled = |text: &str| {
            text.replace("VERSION", env!("CARGO_PKG_VERSION"))
                .replace("UPPER", &upper)
                .replace("NAME", &name)
                .replace("ABOUT", &about)
        };
        let (_, templates) = self.build_system.layout();
        let file = |(path, text): &Template| NewFile {
            path: self.folder.join(filled(path)),
            bytes: Arc::new(filled(text).into_bytes()),
        };
        templates.iter().map(file).collect()
    }
}

/// A sentence about the network, without characters that have a meaning in one of the formats.
fn about(read: &[InputFile]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+ ".contains(c);
    let plain = |name: &str| name.replace(|c: char| !is_plain(c), "_");
    match read.first() {
        Some(file) => format!("{} as C, SHA-256 {}", plain(&file.name), file.sha256),
        None => "A network as C".to_owned(),
    }
}
