//! Valid files in every encoding, and bytes that are no valid file.

use super::*;
use crate::front::read_model::ReadModel;

#[test]
fn files_that_are_not_xml_or_not_whole() {
    let bomb = r#"<?xml version="1.0"?>
<!DOCTYPE net [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
<net name="&c;" version="11"/>"#;
    let cases = [
        ("nothing", String::new()),
        ("white space", " \n\t".to_owned()),
        ("text", "hidden_size = 128".to_owned()),
        ("json", "{\"a\": [1, 2]}".to_owned()),
        ("html", "<!DOCTYPE html><html><body><br></body></html>".to_owned()),
        ("another root", "<model version=\"11\"/>".to_owned()),
        ("two roots", format!("{GRU}<net/>")),
        ("text after the end", format!("{GRU}garbage")),
        ("cut in a tag", GRU[..GRU.find("hidden_size").unwrap() + 8].to_owned()),
        ("cut between tags", GRU[..GRU.find("<edges>").unwrap()].to_owned()),
        ("cut in a comment", format!("{}<!-- never", &GRU[..GRU.find("<edges>").unwrap()])),
        ("crossed tags", "<net version=\"11\"><layers><layer></layers></layer></net>".to_owned()),
        ("an end too many", "<net version=\"11\"></net></net>".to_owned()),
        ("entities", bomb.to_owned()),
        ("an unknown entity", edit(GRU, "name=\"gru\"", "name=\"&gru;\"")),
        ("an unknown entity in text", edit(GRU, "<edges>", "<edges>&gru;")),
        ("a character that is none", edit(GRU, "name=\"gru\"", "name=\"&#0;&#xD800;\"")),
        ("an attribute twice", edit(GRU, "name=\"gru\"", "name=\"gru\" name=\"gru\"")),
        ("an attribute without quotes", edit(GRU, "name=\"gru\"", "name=gru")),
        ("an attribute without a value", edit(GRU, "name=\"gru\"", "name")),
        ("a late declaration", format!("\n{GRU}")),
        (
            "a strange encoding",
            edit(GRU, "<?xml version=\"1.0\"?>", "<?xml version=\"1.0\" encoding=\"KOI8-R\"?>"),
        ),
        ("no layers", "<net version=\"11\"/>".to_owned()),
        ("no layer", "<net version=\"11\"><layers/></net>".to_owned()),
        ("layers twice", edit(GRU, "<layers>", "<layers/><layers>")),
        ("an old version", edit(GRU, "version=\"11\"", "version=\"7\"")),
        ("a coming version", edit(GRU, "version=\"11\"", "version=\"12\"")),
        ("no version", edit(GRU, " version=\"11\"", "")),
        (
            "more than is known",
            edit(GRU, "<layers>", "<layers><!-- --><strange/>x")
                .replace("<edges>", "<edges><strange/>"),
        ),
    ];
    for (part, cases) in cases.chunks(10).enumerate() {
        insta::assert_snapshot!(
            format!("files_that_are_not_xml_or_not_whole_{part}"),
            said(cases.to_vec())
        );
    }
}

#[test]
fn bytes_that_are_no_text() {
    let mut out = String::new();
    let cases: [(&str, &[u8]); 6] = [
        ("not UTF-8", b"<net name=\"\xff\"/>"),
        ("half a UTF-16 character", b"\xff\xfe<\0n\0e\0t"),
        ("a lone surrogate", b"\xff\xfe<\0\x00\xd8"),
        ("zeros", &[0; 64]),
        ("UTF-16 named, but not used", b"<?xml version=\"1.0\" encoding=\"UTF-16\"?><net/>"),
        ("UTF-32", b"\xff\xfe\0\0<\0\0\0n\0\0\0/\0\0\0>\0\0\0"),
    ];
    for (name, bytes) in cases {
        let refusal = compile_bytes(bytes, weights(), &Options::default()).unwrap_err();
        writeln!(out, "==== {name}\n{refusal}").unwrap();
    }
    insta::assert_snapshot!(out);
}

#[test]
fn every_encoding_gives_the_same_model() {
    // a name beyond ASCII that ISO-8859-1 has, too; byte 0x85 is U+0085 in ISO-8859-1 and another
    // character in windows-1252
    let text = edit(GRU, "name=\"cell\"", "name=\"z\u{e9}ro \u{85}\"");
    let cell = "z\u{e9}ro \u{85}";
    let declared = |encoding: &str| {
        edit(
            &text,
            "<?xml version=\"1.0\"?>",
            &format!("<?xml version='1.0'  encoding='{encoding}' standalone='yes'?>"),
        )
    };
    let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    };
    let little = |text: &str| utf16(text, u16::to_le_bytes);
    let big = |text: &str| utf16(text, u16::to_be_bytes);
    let latin1 = |text: &str| -> Vec<u8> {
        text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
    };
    let marked = format!("\u{feff}{text}");
    let files: [(&str, Vec<u8>); 12] = [
        ("UTF-8", text.clone().into_bytes()),
        ("UTF-8, declared", declared("utf-8").into_bytes()),
        ("UTF-8, marked", marked.clone().into_bytes()),
        ("UTF-16 little-endian, marked", little(&marked)),
        ("UTF-16 big-endian, marked", big(&marked)),
        (
            "UTF-16 little-endian, marked and declared",
            little(&format!("\u{feff}{}", declared("UTF-16"))),
        ),
        ("UTF-16 big-endian, not marked", big(&text)),
        ("UTF-16 little-endian, not marked", little(&text)),
        ("ISO-8859-1", latin1(&declared("ISO-8859-1"))),
        ("latin1", latin1(&declared("latin1"))),
        ("CRLF", text.replace('\n', "\r\n").into_bytes()),
        ("no line ends", text.replace(['\n', '\t'], " ").into_bytes()),
    ];
    for (name, bytes) in files {
        let (valid, warnings) = compile_bytes(&bytes, weights(), &Options::default())
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(warnings, "", "{name}");
        assert_eq!(valid.cell_nodes()[0].0.name, cell, "{name}");
        assert_eq!(valid.constants.len(), 3, "{name}");
    }
}

#[test]
fn xml_can_be_written_in_many_ways() {
    let text = GRU
        .replacen("<dim>9</dim>", "<dim><![CDATA[9]]></dim>", 1)
        .replacen("<dim>9</dim>", "<dim>&#57;</dim>", 1)
        .replacen("<dim>12</dim>", "<dim> 1<!-- not 1 -->2<?nothing?>\n</dim>", 1)
        .replace("name=\"cell\"", "name='a&lt;b&amp;&quot;&#x263a;\n\"'")
        .replace("</edges>", "</edges  >")
        .replace("<layers>", "<layers ><!-- a -- comment -->")
        .replace("<net ", "<?pi?>\n<!-- c --><net\n\t")
        .replace("<?pi?>\n<!-- c --><net", "<?pi?><net")
        .replace("shape=\"9, 2\"", "shape = '[ 9,2 ]'");
    // a processing instruction may be anywhere, the XML declaration only at the start
    let text = text.replace("<?xml version=\"1.0\"?>\n", "<?xml version=\"1.0\"?>");
    let valid = accepted(&text);
    assert_eq!(valid.cell_nodes()[0].0.name, "a<b&\"\u{263a} \"");
    // the model without the names and without the places in the text
    let plain = |valid: &CoreModel| {
        let mut valid = valid.clone();
        valid.files.clear();
        for node in &mut valid.nodes {
            node.name.clear();
            node.ledger.clear();
        }
        valid
    };
    assert_eq!(plain(&valid), plain(&accepted(GRU)));
}

#[test]
fn the_bin_file_matters_only_if_a_constant_does() {
    let folder = std::env::temp_dir().join(format!("cellc-reader-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (xml, bin, elsewhere) = (folder.join("m.xml"), folder.join("m.bin"), folder.join("w"));
    let parameters = GRU.replace("type=\"Const\"", "type=\"Parameter\"");
    let parameters: String = parameters
        .lines()
        .map(|l| {
            l.split(" offset=").next().unwrap().to_owned()
                + if l.contains(" offset=") { "/>" } else { "" }
                + "\n"
        })
        .collect();

    std::fs::write(&xml, &parameters).unwrap();
    let ReadModel { model, problems: warnings } = read(&xml, None).unwrap();
    assert_eq!((model.files.len(), warnings.0.len()), (1, 0));
    assert_eq!(model.files[0].name, "m.xml");
    let valid = core_model(&model, &Options::default()).unwrap().0;
    assert_eq!(
        valid.parameters.iter().map(|p| p.weight).collect::<Vec<_>>(),
        [false, false, true, true, true]
    );
    // a file of weights that is given but not needed causes a warning
    let warnings = read(&xml, Some(&elsewhere)).unwrap().problems;
    assert!(warnings.to_string().contains("were not read"), "{warnings}");

    std::fs::write(&xml, GRU).unwrap();
    let place = |text: &str| text.replace(&*folder.to_string_lossy(), "FOLDER").replace('\\', "/");
    let missing = place(&read(&xml, None).unwrap_err().to_string());
    assert!(
        missing.contains(
            "error: a constant, but its file of weights cannot be read: \"FOLDER/m.bin\": "
        ),
        "{missing}"
    );
    assert!(missing.contains(" --> FOLDER/m.xml:13:42"), "{missing}");
    assert_eq!(
        missing.matches("error:").count(),
        1,
        "said once, not for every constant: {missing}"
    );
    std::fs::write(&bin, weights()).unwrap();
    assert_eq!(read(&xml, None).unwrap().model.files.len(), 2);
    std::fs::rename(&bin, &elsewhere).unwrap();
    assert_eq!(read(&xml, Some(&elsewhere)).unwrap().model.files[1].name, "w");
    assert!(read(&folder, None).unwrap_err().to_string().contains("it is a folder"));
    let nowhere = read(&folder.join("none.xml"), None).unwrap_err().to_string();
    assert!(nowhere.starts_with("error: cannot read "), "{nowhere}");
    assert!(read(&xml, Some(&folder)).unwrap_err().to_string().contains("it is a folder"));
    std::fs::remove_dir_all(&folder).unwrap();

    let without = read_bytes("m.xml", GRU.as_bytes(), None).unwrap_err().to_string();
    assert!(without.contains("a constant, but no weights were given"), "{without}");
}
