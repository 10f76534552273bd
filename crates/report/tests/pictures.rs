//! Plots as PNG: each next to its SVG file, at twice its size, with the same colours and texts.

use crate::fixture;
use miniz_oxide::inflate::decompress_to_vec_zlib;
use nandscope_report::{drawings, write_all, write_pictures};
use std::collections::BTreeSet;

/// Width, height and the pixels of a file without filters.
fn decode(file: &[u8]) -> (usize, usize, Vec<[u8; 3]>) {
    assert!(file.starts_with(b"\x89PNG\r\n\x1a\n"));
    let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (width, height) = (number(16), number(20));
    assert_eq!(&file[37..41], b"IDAT");
    let rows = decompress_to_vec_zlib(&file[41..41 + number(33)]).unwrap();
    assert_eq!(rows.len(), (width * 3 + 1) * height);
    let rows = rows
        .chunks(width * 3 + 1)
        .inspect(|row| assert_eq!(row[0], 0));
    let pixels = rows.flat_map(|row| row[1..].as_chunks::<3>().0.to_vec());
    (width, height, pixels.collect())
}

/// The value of an attribute of the first element.
fn attribute(svg: &str, name: &str) -> usize {
    let start = svg.find(&format!("{name}=\"")).unwrap() + name.len() + 2;
    let text = &svg[start..];
    text[..text.find('"').unwrap()].parse().unwrap()
}

/// The colour of the first line of a plot in an SVG file.
fn first_stroke(svg: &str) -> Option<[u8; 3]> {
    let line = svg
        .lines()
        .find(|l| l.contains("<polyline") && l.contains("stroke-width=\"2\""))?;
    let start = line.find("stroke=\"#")? + 9;
    let part = |at: usize| u8::from_str_radix(&line[start + at..start + at + 2], 16).unwrap();
    Some([part(0), part(2), part(4)])
}

#[test]
fn every_plot_is_a_png_beside_its_svg() {
    let folder = std::env::temp_dir().join(format!("nandscope-pictures-{}", std::process::id()));
    let document = fixture::document();
    let written = write_all(&document, &folder).unwrap();
    let pictures = write_pictures(&document, &folder).unwrap();
    let plots: BTreeSet<_> = written
        .iter()
        .filter(|p| p.extension().is_some_and(|e| e == "svg"))
        .collect();
    let expected: BTreeSet<_> = plots.iter().map(|p| p.with_extension("png")).collect();
    assert_eq!(pictures.iter().cloned().collect::<BTreeSet<_>>(), expected);
    let mut strokes = 0;
    for drawing in drawings(&document).unwrap() {
        let path = folder.join("plots").join(format!("{}.png", drawing.name));
        let (width, height, pixels) = decode(&std::fs::read(&path).unwrap());
        let size = (
            attribute(&drawing.svg, "width"),
            attribute(&drawing.svg, "height"),
        );
        assert_eq!(
            (width, height),
            (2 * size.0, 2 * size.1),
            "{}",
            drawing.name
        );
        let ink = pixels.iter().filter(|p| **p != [255; 3]).count() as f64 / pixels.len() as f64;
        assert!(
            (0.005..0.7).contains(&ink),
            "{}: {ink} is not white",
            drawing.name
        );
        // The heading is in the first rows of both.
        let top = &pixels[..width * 60];
        assert!(
            top.contains(&[0x17, 0x1b, 0x21]),
            "{} has no heading",
            drawing.name
        );
        if let Some(colour) = first_stroke(&drawing.svg) {
            strokes += 1;
            assert!(
                pixels.contains(&colour),
                "{} lacks {colour:x?}",
                drawing.name
            );
        }
    }
    assert!(strokes > 3, "{strokes} plots with lines");
    std::fs::remove_dir_all(&folder).unwrap();
}
