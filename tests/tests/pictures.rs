//! `cellc inspect` with `--svg`, `--png` and `--html`: sizes, contents, and the page in a browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc_tests::skipped::skip;
use cellc_tests::{browser, command};

/// Maximum width and height of a picture.
const LARGEST: (f64, f64) = (4000.0, 8000.0);

/// A large model, and its options.
type Model = (&'static str, &'static [&'static str]);

/// The large models of the repository.
const MODELS: [Model; 12] = [
    ("../examples/denoise/model/gtcrn_simple.onnx", &[]),
    ("../examples/g2p/model/g2p_en.onnx", &[]),
    (
        "../examples/vad/model/silero_vad.onnx",
        &["--const=sr=16000", "--shape=input=1,576", "--shape=state=2,1,128"],
    ),
    ("onnx/cases/denoise3_ts17/model.onnx", &[]),
    ("onnx/cases/crnn_ocr_ts11/model.onnx", &["--shape=image=1,1,8,100"]),
    ("onnx/cases/emb_bilstm_ts17/model.onnx", &["--shape=tokens=1,20"]),
    ("onnx/cases/lstm3_bi_ts14/model.onnx", &[]),
    ("onnx/cases/norm_residual_ts11/model.onnx", &["--shape=x=1,20,6"]),
    ("corpus/keras_saved_model/model.xml", &[]),
    ("corpus/stacked_lstm/model.xml", &[]),
    ("corpus/rnnoise_stream_f32/model.xml", &[]),
    ("amplifiers/nam_wavenet.nam", &[]),
];

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The path of a picture that `cellc inspect` writes of a model.
fn picture((model, options): Model, option: &str, file: &str) -> Option<PathBuf> {
    let file = folder().join(file);
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join(model);
    let mut inspect = Command::new(command::program());
    inspect.args(["inspect", "--quiet"]).arg(model).args(options).arg(option).arg(&file);
    let output = inspect.output().expect("cellc starts");
    let text = String::from_utf8_lossy(&output.stderr);
    if text.contains("no monospaced font") {
        skip("no monospaced font");
        return None;
    }
    assert!(output.status.success(), "{text}");
    Some(file)
}

fn text_of(model: Model, option: &str, file: &str) -> String {
    let file = picture(model, option, file).expect("only PNG needs a font");
    fs::read_to_string(file).expect("text")
}

/// The number behind `attribute="`, the first in a text.
fn number(text: &str, attribute: &str) -> f64 {
    let begin = format!(" {attribute}=\"");
    let at = text.find(&begin).expect("the attribute") + begin.len();
    text[at..].split('"').next().and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn pictures_of_large_models_stay_small() {
    for (i, model) in MODELS.into_iter().enumerate() {
        let svg = text_of(model, "--svg", &format!("{i}.svg"));
        let size = (number(&svg, "width"), number(&svg, "height"));
        assert!(size.0 <= LARGEST.0 && size.1 <= LARGEST.1, "{}: {size:?}", model.0);
        let is_whole = !svg.contains("class=\"rest\"");
        assert_eq!(svg.contains("Left out: "), !is_whole, "{}", model.0);
    }
}

#[test]
fn a_png_has_the_size_of_its_picture_and_text() {
    for (i, scale) in [(0, 1.0), (2, 2.0)] {
        let svg = text_of(MODELS[i], "--svg", &format!("scale{i}.svg"));
        let Some(png) = picture(MODELS[i], "--png", &format!("{i}.png")) else { return };
        let png = fs::read(png).expect("a file");
        assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
        let at = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
        let size = (f64::from(at(16)), f64::from(at(20)));
        assert_eq!(size, (number(&svg, "width") * scale, number(&svg, "height") * scale));
        // a picture of boxes without text is smaller
        assert!(png.len() > 80_000, "{} bytes", png.len());
    }
}

/// The actions of a user; records what the page shows after each.
const USER: &str = r#"<script>
const said = [];
const say = text => said.push(text.replace(/\s+/g, ' '));
const buttons = () => [...document.querySelectorAll('#results button')];
try {
  say(`${pictures.length} pictures, ${buttons().length} results`);
  const search = document.getElementById('search');
  search.value = 'GRU_780';
  search.dispatchEvent(new Event('input'));
  say(`found ${document.getElementById('found').textContent}`);
  buttons()[0].click();
  say(`chosen ${document.querySelectorAll('.chosen').length}`);
  say(`about ${about.hidden ? '' : about.textContent}`);
  search.value = 'Slice_';
  search.dispatchEvent(new Event('input'));
  buttons().find(button => button.textContent.includes('no work')).click();
  say(`edge ${document.querySelector('.chosen').dataset.layers ? about.textContent : ''}`);
  const before = view();
  document.getElementById('closer').click();
  say(`zoom ${(before[2] / view()[2]).toFixed(1)}`);
  document.getElementById('fit').click();
  const [first] = shown.querySelectorAll('[data-names]');
  first.dispatchEvent(new PointerEvent('pointerup', { bubbles: true }));
  say(`tensor ${about.textContent}`);
} catch (error) { say(`error ${error.stack}`); }
const end = document.createElement('pre');
end.id = 'said';
end.textContent = said.join('\n');
document.body.append(end);
</script>"#;

#[test]
fn a_page_searches_zooms_and_tells() {
    let page = text_of(MODELS[0], "--html", "page.html");
    assert!(!page.contains("http://") || page.matches("http://").count() == 2, "only of SVG");
    assert!(!page.contains("https://") && !page.contains(" src="), "a page in one file");
    let file = folder().join("used.html");
    fs::write(&file, page.replace("</body>", &format!("{USER}</body>"))).expect("a page");
    let Some(elements) = browser::elements(&file) else { return };
    let said = elements.split("id=\"said\">").nth(1).expect("the script has run");
    let said = said.split("</pre>").next().expect("a text");
    for expected in [
        "2 pictures, 200 results",
        "found 5 layers, 0 kernels",
        "chosen 1",
        "GRUSequence GRU_780",
        "weight bytes",
        "direction",
        "without work, on this edge",
        "zoom 1.4",
        "tensor mix",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}
