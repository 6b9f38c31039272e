//! The pictures of a report: SVG, PNG and HTML.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use fontdb::{Database, Family, Query, Stretch, Style, Weight};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use crate::diagnostic::{Diagnostic, Origin, in_shell};
use crate::report::Report;
use crate::report::drawing::{self, LARGEST};

use super::Failure;

/// Monospaced font families in the order of preference. Browsers draw with the first, too.
const FONTS: [&str; 8] = [
    "DejaVu Sans Mono",
    "Liberation Mono",
    "Noto Sans Mono",
    "Menlo",
    "Consolas",
    "Courier New",
    "Ubuntu Mono",
    "FreeMono",
];

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PictureKind {
    Svg,
    Png,
    Html,
}

impl PictureKind {
    const ALL: [Self; 3] = [Self::Svg, Self::Png, Self::Html];

    /// The option that asks for the picture.
    pub(super) fn option(self) -> &'static str {
        match self {
            Self::Svg => "--svg",
            Self::Png => "--png",
            Self::Html => "--html",
        }
    }

    /// The usual extension of the file.
    pub(super) fn extension(self) -> &'static str {
        &self.option()[2..]
    }

    /// Refuses a file with the extension of another picture format.
    ///
    /// # Errors
    /// If the file has the extension of another picture format. The message suggests the option for
    /// the extension, or another file name.
    pub(super) fn refuse_other_files(self, path: &Path) -> Result<(), Failure> {
        const OTHERS: [&str; 13] = [
            "svg", "png", "html", "htm", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "pdf",
            "eps",
        ];
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        let ending = ending.to_ascii_lowercase();
        let is_own = ending == self.extension() || self == Self::Html && ending == "htm";
        if is_own || !OTHERS.contains(&&ending[..]) {
            return Ok(());
        }
        let option = self.option();
        let (file, shown) = (path.display(), in_shell(&path.to_string_lossy()));
        let help = match Self::ALL.into_iter().find(|kind| kind.extension() == ending) {
            Some(kind) => format!("{} {shown}", kind.option()),
            None => {
                let renamed = path.with_extension(self.extension());
                let drawable = in_shell(&renamed.to_string_lossy());
                format!("cellc draws SVG, PNG and HTML: {option} {drawable}")
            }
        };
        Err(Failure::Usage(format!("{option} {file} asks for another format: {help}")))
    }

    /// The content of the file.
    ///
    /// # Errors
    /// For PNG, if the machine has no monospaced font or too little memory for the pixels.
    pub(super) fn file(self, report: &Report) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Svg => Ok(drawing::picture(report).svg.into_bytes()),
            Self::Html => Ok(drawing::page(report).into_bytes()),
            Self::Png => png(report),
        }
    }
}

/// The picture as PNG, at twice the size of the SVG if at most [`LARGEST`], else at the SVG's size.
fn png(report: &Report) -> Result<Vec<u8>, Failure> {
    let picture = drawing::picture(report);
    let mut options = Options { font_family: "monospace".to_owned(), ..Options::default() };
    options.fontdb = Arc::new(fonts()?);
    let not_drawn = |why: String| {
        Failure::from(Diagnostic::error(
            Origin::Unknown,
            format!("the picture is not drawn: {why}"),
        ))
    };
    let tree =
        Tree::from_str(&picture.svg, &options).map_err(|error| not_drawn(error.to_string()))?;
    let is_small = picture.width * 2.0 <= LARGEST.0 && picture.height * 2.0 <= LARGEST.1;
    let scale = if is_small { 2.0 } else { 1.0 };
    let [width, height] = [picture.width, picture.height].map(|size| (size * scale) as u32);
    let mut pixels =
        Pixmap::new(width, height).ok_or_else(|| not_drawn("out of memory".to_owned()))?;
    let transform = Transform::from_scale(scale as f32, scale as f32);
    resvg::render(&tree, transform, &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| not_drawn(error.to_string()))
}

/// The fonts of the machine, with a family chosen for monospaced text.
///
/// # Errors
/// If the machine has no monospaced font.
fn fonts() -> Result<Database, Failure> {
    let mut fonts = Database::new();
    fonts.load_system_fonts();
    let has = |family: &str| {
        let families = &[Family::Name(family)];
        let (weight, stretch, style) = (Weight::NORMAL, Stretch::Normal, Style::Normal);
        fonts.query(&Query { families, weight, stretch, style }).is_some()
    };
    let known = FONTS.iter().find(|family| has(family)).map(|family| (*family).to_owned());
    let any = || fonts.faces().find(|face| face.monospaced)?.families.first().cloned();
    let family = known.or_else(|| Some(any()?.0)).ok_or_else(|| {
        Diagnostic::error(Origin::Unknown, "--png: there is no monospaced font on this machine")
            .help("install one (Debian: apt install fonts-dejavu-core), or write --svg or --html")
    })?;
    fonts.set_monospace_family(family);
    Ok(fonts)
}
