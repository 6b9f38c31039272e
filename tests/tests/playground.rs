//! The page that contains the compiler, in a browser.

use std::fs;
use std::path::Path;
use std::process::Command;

use cellc_tests::browser;
use cellc_tests::skipped::has;

/// Drops a model, a model with its weights in a second file, and a broken file; records what the
/// page shows.
const USER: &str = r#"<script>
(async () => {
  const said = [];
  const content = () => at('content').textContent;
  const tab = name => [...at('tabs').children].find(one => one.textContent === name);
  try {
    await restart;
    await take([new File([new Uint8Array(MODEL)], 'denoise.onnx')]);
    said.push(`model: ${at('said').textContent}; ${at('facts').textContent}`);
    said.push(`tabs: ${[...at('tabs').children].map(one => one.textContent)}`);
    said.push(`picture: ${answer.page.includes('<svg') && document.querySelector('iframe') !== null}`);
    tab('net.c').click();
    said.push(`c: ${content().includes('void net_step(')} ${at('save') !== null}`);
    tab('plan').click();
    said.push(`plan: ${content().slice(0, 4000).replace(/\s+/g, ' ')}`);
    at('language').value = 'rust';
    at('target').value = 'cortex-m4f';
    at('words').value = '--precision int8';
    await compile();
    said.push(`rust: ${tab('net.rs') !== undefined}; ${at('facts').textContent}`);
    at('words').value = '--precision int7';
    await compile();
    said.push(`option: ${content()}`);
    at('words').value = '';
    await take([new File(['<net'], 'net.xml')]);
    said.push(`broken xml: ${at('said').textContent}: ${content()}`);
    await take([new File([new Uint8Array(MODEL).slice(0, 3000)], 'half.onnx')]);
    said.push(`broken: ${content()}`);
    at('target').value = 'any';
    await take([new File([new Uint8Array(XML)], 'model.xml'), new File([new Uint8Array(BIN)], 'model.bin')]);
    said.push(`two files: ${at('said').textContent}`);
  } catch (error) { said.push(`error ${error.stack}`); }
  await fetch('/', { method: 'POST', body: said.join('\n') });
})();
</script>"#;

#[test]
fn a_page_compiles_models_and_refuses_broken_files() {
    if !["wasm32-unknown-unknown", "bash"].into_iter().all(has) {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("playground");
    fs::create_dir_all(&folder).expect("a folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let file = folder.join("page.html");
    let mut build = Command::new("bash");
    build.arg(root.join("playground/build")).arg(&file).env("PROFILE", "dev");
    let output = build.output().expect("bash starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(&file).expect("a page");
    assert!(!page.contains("https://") && !page.contains(" src="), "a page in one file");
    let bytes = |name: &str| {
        let bytes = fs::read(root.join("tests").join(name)).expect("a model");
        format!("{bytes:?}")
    };
    let user = USER
        .replace("MODEL", &bytes("onnx/cases/denoise3_ts17/model.onnx"))
        .replace("XML", &bytes("corpus/gru_cell_min/model.xml"))
        .replace("BIN", &bytes("corpus/gru_cell_min/model.bin"));
    fs::write(&file, page.replace("</body>", &format!("{user}</body>"))).expect("a page");
    let Some(said) = browser::posted(&file) else { return };
    for expected in [
        "model: denoise.onnx: compiled in",
        "multiply-adds86,952",
        "picture: true",
        "c: true true",
        "plan: ",
        "rust: true",
        "a step on cortex-m4f",
        "option: error: --precision int7",
        "broken xml: refused: error: ",
        "broken: error: ",
        "two files: model.xml: compiled in",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}
