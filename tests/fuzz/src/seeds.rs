//! `seeds FOLDER`: writes random models and the small ones of the corpus as inputs of the fuzz targets.

use std::path::PathBuf;
use std::{env, fs};

use cellc_fuzz::SEPARATOR;
use cellc_tests::corpus;
use cellc_tests::recipe;

/// Larger files leave no room for mutations.
const MOST: usize = 24_000;

fn main() {
    let folder = PathBuf::from(env::args_os().nth(1).expect("a folder to write to"));
    fs::create_dir_all(&folder).expect("the folder can be made");
    let write = |name: String, xml: &[u8], bin: &[u8]| {
        if xml.len() + bin.len() < MOST {
            fs::write(folder.join(name), [xml, SEPARATOR, bin].concat()).expect("a file can be written");
        }
    };
    for (k, recipe) in recipe::drawn(400, 3).iter().enumerate() {
        let file = recipe.file();
        write(format!("random_{k}"), file.text().as_bytes(), &file.weights);
    }
    for case in fs::read_dir(corpus::folder()).expect("the corpus") {
        let case = case.expect("a case").path();
        let read = |name: &str| fs::read(case.join(name)).unwrap_or_default();
        write(case.file_name().expect("a name").to_string_lossy().into_owned(), &read("model.xml"), &read("model.bin"));
    }
}
