//! What goes to the registry with each published crate. `.ci/run` unpacks the packages and builds them.

use std::fs;
use std::path::Path;
use std::process::Command;

const PUBLISHED: &[(&str, &str)] =
    &[("cellc", "cellc"), ("cellc-macros", "cellc-macros"), ("cellc-runtime", "runtime")];

#[test]
fn packages_hold_their_licences_and_a_readme() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, folder) in PUBLISHED {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(&root).args(["package", "--list", "--offline", "--allow-dirty", "--package", name]);
        let output = command.output().expect("cargo runs");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let list = String::from_utf8(output.stdout).expect("paths are UTF-8");
        let holds = |file: &str| list.lines().any(|line| line == file);
        assert!(holds("README.md"), "{name} has no README.md");
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(holds(licence), "{name} has no {licence}");
            let text = |path: &Path| fs::read_to_string(path).expect("a licence");
            assert_eq!(text(&root.join(folder).join(licence)), text(&root.join(licence)), "{name}: {licence}");
            assert!(text(&root.join(licence)).contains("The cellc authors"));
        }
    }
}
