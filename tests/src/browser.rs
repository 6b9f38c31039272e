//! Pages in a browser without a window.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::skipped::{has, skip};

/// The elements of a page after its scripts have run. `None`: there is no Chromium, and the test
/// leaves something out. The variable CHROMIUM names another browser.
///
/// # Panics
/// If the browser reports an error.
pub fn elements(page: &Path) -> Option<String> {
    let browser = match env::var("CHROMIUM") {
        Ok(browser) => browser,
        Err(_) if has("chromium") => "chromium".to_owned(),
        Err(_) => return None,
    };
    let profile = tempfile::tempdir().expect("a folder");
    let output = Command::new(&browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-sync"])
        .args(["--disable-background-networking", "--disable-component-update"])
        // wasm of a page beside it
        .args(["--allow-file-access-from-files", "--virtual-time-budget=60000", "--dump-dom"])
        .args(["--window-size=1400,900", "--timeout=120000"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            skip(&format!("no {browser}: {error}"));
            return None;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{browser}: {said}");
    Some(String::from_utf8(output.stdout).expect("a page is UTF-8"))
}
