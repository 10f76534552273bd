//! `nandscope calc` and the hosts from outside: boards, JSON, and input that makes no sense.

use crate::support::Folder;

#[test]
fn all_links_are_listed() {
    let folder = Folder::new("calc-links");
    let ran = folder.run(&["calc", "link"]);
    ran.succeeds();
    for name in [
        "pcie-1.0-x1",
        "pcie-5.0-x16",
        "sata-1.5",
        "sd-sdr104",
        "uhs3-fd624",
        "emmc-hs400",
        "usb-3.2-gen2x2-uas",
    ] {
        assert!(ran.out.contains(name), "no {name}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_a_remedy() {
    let folder = Folder::new("calc-refused");
    let cases: &[(&[&str], &str)] = &[
        (&["link", "sata-12"], "sata-<1.5|3|6>"),
        (
            &["link", "sata-6", "--efficiency", "0"],
            "give a percentage above 0",
        ),
        (&["flash", "--page-kib", "16"], "--read-us"),
        (&["flash", "--page-kib", "nan", "--read-us", "1"], "above 0"),
        (
            &["battery", "--wh", "50", "--use", "light:80:7:1"],
            "add up to 80 %",
        ),
        (&["battery", "--wh", "50", "--use", "light"], "NAME:PERCENT"),
        (&["video", "4", "--fps", "24"], "WIDTHxHEIGHT"),
        (&["video", "4k", "--fps", "0"], "give a number above 0"),
    ];
    for (arguments, part) in cases {
        folder
            .run(&[&["calc"], *arguments].concat())
            .fails(2, &[part]);
    }
}

#[test]
fn a_board_is_reviewed_port_by_port_by_its_file_name() {
    let folder = Folder::new("calc-board");
    let ran = folder.run(&[
        "review",
        "sim:plextor-m6e-256gb",
        "--host",
        "asus-z87-satae.toml",
        "--suite",
        "iometer",
        "--quick",
        "-o",
        "out",
    ]);
    ran.succeeds();
    for port in ["PCIe slot", "PCH slot", "SATA Express"] {
        assert!(ran.out.contains(port), "no `{port}` in:\n{}", ran.out);
    }
    assert!(!ran.out.contains("Intel SATA"), "{}", ran.out);
    // For a device that fits no port, the error lists the links of the board.
    folder
        .run(&[
            "review",
            "sim:sm2708-250gb",
            "--host",
            "asus-z87-satae",
            "--mode",
            "x",
        ])
        .fails(2, &["cannot be used with"]);
}

#[test]
fn answers_for_programs_are_json() {
    let folder = Folder::new("calc-json");
    let json = |words: &[&str]| -> serde_json::Value {
        let ran = folder.run(words);
        serde_json::from_str(&ran.succeeds().out).unwrap()
    };
    let links = json(&[
        "calc",
        "link",
        "pcie-2.0-x2",
        "--efficiency",
        "78",
        "--json",
    ]);
    assert_eq!(links[0]["name"], "pcie-2.0-x2");
    assert_eq!(links[0]["data_mb_per_s"], 780.0);
    let video = json(&["calc", "video", "3840x2160", "--fps", "24", "--json"]);
    let numbers = video.as_array().unwrap().iter();
    assert!(numbers.filter(|line| line["value"].is_f64()).count() > 1);
    assert_eq!(video.as_array().unwrap().len(), {
        let text = folder.run(&["calc", "video", "3840x2160", "--fps", "24"]);
        text.succeeds().out.lines().count()
    });
    let traces = json(&["trace", "list", "--json"]);
    let name = traces[0]["name"].as_str().unwrap();
    let info = json(&["trace", "info", name, "--json"]);
    let requests = json(&["trace", "requests", name, "--json"]);
    assert!(info["requests"].as_u64().unwrap() > 100);
    assert_eq!(info["requests"], requests.as_array().unwrap().len());
    let keys = json(&["devices", "show", "sm2708-250gb", "--json"]);
    assert_eq!(keys[0]["key"], "format");
}
