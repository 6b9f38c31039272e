//! Pages in a headless browser.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::skipped::has;

/// The time limit for a page.
const LONGEST: Duration = Duration::from_secs(180);

/// Chromium, or the browser that the variable CHROMIUM names, with a new profile. `None` without a
/// browser; a skip is then reported.
fn browser() -> Option<(Command, TempDir)> {
    let browser = match env::var("CHROMIUM") {
        Ok(browser) => browser,
        Err(_) if has("chromium") => "chromium".to_owned(),
        Err(_) => return None,
    };
    let profile = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(browser);
    command
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-sync"])
        .args(["--disable-background-networking", "--disable-component-update"])
        .arg("--window-size=1400,900")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .stdin(Stdio::null());
    Some((command, profile))
}

/// The elements of a page after loading, as HTML. `None` without a browser.
///
/// # Panics
/// If the browser reports an error.
pub fn elements(page: &Path) -> Option<String> {
    let (mut browser, _profile) = browser()?;
    let address = format!("file://{}", page.display());
    let output = browser.args(["--dump-dom", &address]).output().expect("the browser starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Some(String::from_utf8(output.stdout).expect("a page is UTF-8"))
}

/// The text that a page posts to its own address. `None` without a browser.
///
/// # Panics
/// If the page posts nothing in time.
pub fn posted(page: &Path) -> Option<String> {
    let (mut browser, _profile) = browser()?;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.set_nonblocking(true).expect("a listener need not wait");
    let address = format!("http://{}/", listener.local_addr().expect("an address"));
    let page = fs::read(page).expect("a page");
    browser.arg(address).stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = browser.spawn().expect("the browser starts");
    let begin = Instant::now();
    let mut found = None;
    while found.is_none() && begin.elapsed() < LONGEST {
        match listener.accept() {
            Ok((stream, _)) => found = answered(stream, &page),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    _ = running.kill();
    _ = running.wait();
    Some(found.expect("the page posts its result"))
}

/// Answers one request. Returns the body of a POST.
fn answered(stream: TcpStream, page: &[u8]) -> Option<String> {
    stream.set_nonblocking(false).expect("a stream may wait");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
    let mut reader = BufReader::new(&stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (status, content) = match &first {
        get if get.starts_with("GET / ") => ("200 OK", page),
        post if post.starts_with("POST") => ("200 OK", &[][..]),
        _ => ("404 Not Found", &[][..]),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: \
         close\r\n\r\n",
        content.len()
    );
    (&stream).write_all(head.as_bytes()).ok()?;
    (&stream).write_all(content).ok()?;
    first.starts_with("POST").then(|| String::from_utf8_lossy(&body).into_owned())
}
