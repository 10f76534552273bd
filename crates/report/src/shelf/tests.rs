use super::*;
use nandscope_result::{Figure, ResultDocument};

fn figure(id: &str, value: f64, unit: &str) -> Figure {
    Figure {
        id: id.into(),
        title: format!("figure {id}"),
        value,
        unit: unit.into(),
        ..Figure::default()
    }
}

/// A drive with one result: its reading speed and its power.
fn drive(name: &str, read: f64, power: f64) -> Drive {
    let mut document = crate::blank::document();
    document.title = format!("Drive {name}");
    document.target.name = format!("sim:{name}");
    document.figures = vec![figure("read", read, "MB/s"), figure("power", power, "W")];
    Drive {
        name: name.into(),
        about: About::default(),
        results: vec![document],
    }
}

/// A separate folder for one test, removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("nandscope-shelf-{name}-{}", std::process::id());
        Folder(std::env::temp_dir().join(name))
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn site(name: &str, drives: &[Drive]) -> Folder {
    let folder = Folder::new(name);
    write_site(drives, &folder.0, RankScope::Kind).unwrap();
    folder
}

/// The parts of `page` between `begin` and the next `end`.
fn between<'a>(page: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    let parts = page.split(begin).skip(1);
    parts.filter_map(|part| part.split(end).next()).collect()
}

#[test]
fn charts_show_every_drive_with_the_best_first() {
    let drives = [
        drive("slow", 100.0, 1.0),
        drive("fast", 300.0, 3.0),
        drive("middle", 200.0, 2.0),
    ];
    let folder = site("charts", &drives);
    let index = folder.text("index.html");
    let charts = between(&index, "<figure class=\"bars shelf-chart\"", "</figure>");
    assert_eq!(charts.len(), 2);
    let order = |chart: &str| between(chart, "data-drive=\"", "\"").join(" ");
    // The highest rate, the lowest power.
    assert_eq!([order(charts[0]), order(charts[1])], ["1 2 0", "0 2 1"]);
    assert!(charts[0].contains("width:100") && charts[0].contains(">300\u{202f}MB/s<"));
    assert!(charts[0].contains("<small>simulated</small>"));
    assert!(index.contains("All drives are simulated"));
    for name in ["slow", "fast", "middle"] {
        let page = folder.text(&format!("drives/{name}-test.html"));
        assert!(page.contains("href=\"../index.html\""), "{name}");
        assert!(index.contains(&format!("href=\"drives/{name}-test.html\"")));
    }
    let middle = folder.text("drives/middle-test.html");
    let ranks = between(&middle, "<table class=\"stack ranks\">", "</table>");
    assert!(ranks[0].contains("<b>2</b> of 3"), "{}", ranks[0]);
    assert!(ranks[0].contains("Drive fast: 300"), "{}", ranks[0]);
}

#[test]
fn results_of_different_procedures_are_not_compared() {
    let mut other = drive("other", 300.0, 1.0);
    other.results[0].procedure = "another".into();
    let folder = site("procedures", &[drive("one", 100.0, 1.0), other]);
    assert!(
        !folder
            .text("index.html")
            .contains("class=\"bars shelf-chart\"")
    );
    assert!(!folder.text("drives/one-test.html").contains("id=\"ranks\""));
}

#[test]
fn a_measured_drive_and_a_quick_run_are_marked() {
    let (mut real, mut quick) = (drive("real", 100.0, 1.0), drive("quick", 200.0, 1.0));
    real.results[0].target.kind = nandscope_result::TargetKind::File;
    quick.results[0].quick = true;
    let index = site("kinds", &[real, quick]).text("index.html");
    assert!(index.contains("1 measured, 1 simulated"));
    assert!(index.contains("<small>simulated, quick run</small>"));
    assert!(index.contains("data-kind=\"measured\""));
}

#[test]
fn prices_are_compared_within_a_currency() {
    let priced = |name: &str, amount: f64, currency: &str| {
        let mut drive = drive(name, 100.0, 1.0);
        drive.about.price = Some(Price {
            amount,
            currency: currency.into(),
        });
        drive
    };
    let drives = [
        priced("dear", 2.0, "EUR"),
        priced("cheap", 0.5, "EUR"),
        priced("dollar", 0.1, "USD"),
    ];
    let index = site("prices", &drives).text("index.html");
    let charts = between(&index, "<figure class=\"bars shelf-chart\"", "</figure>");
    let price = charts.last().unwrap();
    assert!(price.contains("Price per GB"), "{price}");
    // The drives have 1 GB.
    assert_eq!(between(price, "data-drive=\"", "\""), ["1", "0"]);
    assert!(price.contains("0.50\u{202f}EUR/GB"), "{price}");
}

#[test]
fn foreign_text_is_escaped_on_every_page() {
    let hostile = "<script>alert(1)</script>\" onload=\"x\u{202e}";
    let mut one = drive("one", 100.0, 1.0);
    one.about = About {
        title: Some(hostile.into()),
        photo: Some("photos/one.png".into()),
        price: Some(Price {
            amount: 1.0,
            currency: hostile.into(),
        }),
        notes: Some(format!("{hostile}\n\nsecond")),
        author: Author {
            // In a text a quote is nothing but a quote.
            introduction: Some(hostile.replace('"', "")),
            ..Author::default()
        },
    };
    one.results[0].procedure = hostile.into();
    one.results[0].figures[0].title = hostile.into();
    let mut two = drive("two", 200.0, 1.0);
    two.results[0].procedure = hostile.into();
    let folder = site("hostile", &[one, two]);
    let mut pages = vec![folder.text("index.html"), folder.text("compare.html")];
    for entry in std::fs::read_dir(folder.0.join("drives")).unwrap() {
        pages.push(std::fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    assert_eq!(pages.len(), 4);
    for page in pages {
        assert!(!page.contains("<script>alert"));
        // In the data of a script the quote is escaped.
        assert!(!page.replace("\\\"", "").contains("\" onload"));
        assert!(!page.contains('\u{202e}'));
        assert!(page.contains("script-src 'unsafe-inline'"));
    }
}

#[test]
fn an_empty_shelf_has_a_page() {
    let folder = site("empty", &[]);
    assert!(folder.text("index.html").contains("The shelf is empty"));
}

#[test]
fn a_drive_is_ranked_against_others_only() {
    let shelf = [drive("a", 100.0, 1.0), drive("b", 300.0, 3.0)];
    let mine: ResultDocument = drive("a", 200.0, 2.0).results.remove(0);
    let found = among(&mine, &shelf, RankScope::Kind).ranks;
    // The older result of the same target does not count.
    assert_eq!((found[0].place, found[0].of), (2, 2));
    assert_eq!(found[0].best.0, "Drive b (simulated)");
    // The lower power.
    assert_eq!((found[1].place, found[1].of), (1, 2));
    assert!(among(&mine, &shelf[..1], RankScope::Kind).ranks.is_empty());
}

/// A drive with an interface of this link.
fn with_link(name: &str, read: f64, link: &str) -> Drive {
    let mut drive = drive(name, read, 1.0);
    let target = &mut drive.results[0].target;
    target.parameters.push(nandscope_result::Parameter {
        group: "interface".into(),
        name: "link".into(),
        value: link.into(),
        ..Default::default()
    });
    drive
}

#[test]
fn drives_of_other_kinds_count_on_request() {
    let shelf = [
        with_link("card", 20.0, "sd-high-speed"),
        with_link("faster", 22.0, "sd-high-speed"),
        with_link("express", 800.0, "pcie-3.0-x1"),
    ];
    let rank = |scope| {
        let context = among(&shelf[0].results[0], &shelf, scope);
        let intro = context.rivals.unwrap().intro;
        let (place, of) = (context.ranks[0].place, context.ranks[0].of);
        (place, of, intro)
    };
    let (place, of, intro) = rank(RankScope::Kind);
    assert_eq!((place, of), (2, 2));
    assert!(
        intro.starts_with("Places among the 2 SD cards without UHS of the shelf"),
        "{intro}"
    );
    let (place, of, intro) = rank(RankScope::All);
    assert_eq!((place, of), (3, 3));
    assert!(
        intro.starts_with("Places among the 3 drives of all kinds of the shelf"),
        "{intro}"
    );
    // The pages of a site say the same.
    for (scope, among) in [
        (RankScope::Kind, "Places among the 2 SD cards without UHS"),
        (RankScope::All, "Places among the 3 drives of all kinds"),
    ] {
        let folder = Folder::new(&format!("ranks-{scope:?}"));
        write_site(&shelf, &folder.0, scope).unwrap();
        assert!(folder.text("drives/card-test.html").contains(among));
    }
}

#[test]
fn names_follow_from_the_target() {
    let mut document = crate::blank::document();
    for (name, model, expected) in [
        ("sim:samsung-evo-16gb", "MB-MP16D", "samsung-evo-16gb"),
        ("sim:./cards/mine.toml", "X", "mine"),
        ("/dev/sda", "Samsung SSD 980", "samsung-ssd-980"),
        ("./test.img", "", "test-img"),
    ] {
        document.target.name = name.into();
        document.target.model = model.into();
        assert_eq!(drive_name(&document), expected);
    }
}

#[test]
fn scripts_and_styles_fetch_nothing() {
    for text in [index::SHELF_SCRIPT, index::SHELF_STYLE] {
        for sign in [
            "http://",
            "https://",
            "fetch(",
            "@import",
            "innerHTML",
            "url(",
            "</",
        ] {
            assert!(!text.contains(sign), "{sign}");
        }
        assert!(text.lines().all(|l| nandscope_units::printable(l) == l));
    }
}
