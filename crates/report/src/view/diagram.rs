//! A drawing of a device's flash: channels, dies on each, planes in each, from the table of
//! parameters. Where the table does not name them nothing is drawn.

use nandscope_result::TargetInfo;
use std::fmt::Write as _;

/// Channels and dies beyond which a drawing would show only hatching.
const MOST_CHANNELS: u32 = 16;
const MOST_DIES: u32 = 16;

/// The drawing and its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagram {
    /// An `svg` element of numbers and fixed words only, without text of the document.
    pub svg: String,
    /// Description of the drawing in words.
    pub caption: String,
}

/// Draws the flash of a device.
pub fn of_target(target: &TargetInfo) -> Option<Diagram> {
    let number = |name: &str| {
        target
            .parameters
            .iter()
            .find(|p| p.name == name && (p.group == "nand" || p.group.starts_with("nand.")))
            .and_then(|p| leading_number(&p.value))
            .filter(|n| *n > 0)
    };
    let channels = number("channels")?;
    let dies = number("dies_per_channel")?;
    let planes = number("planes").unwrap_or(1);
    let words = format!(
        "{} × {} × {}",
        counted(channels, "channel"),
        counted(dies, "die"),
        counted(planes, "plane")
    );
    if channels > MOST_CHANNELS || dies > MOST_DIES || planes > 8 {
        return Some(Diagram {
            svg: String::new(),
            caption: words,
        });
    }
    Some(Diagram {
        svg: draw(channels, dies, planes),
        caption: words,
    })
}

fn counted(n: u32, word: &str) -> String {
    if n == 1 {
        format!("{n} {word}")
    } else {
        format!("{n} {word}s")
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let digits: String = text
        .trim()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// Width of the drawing, where the dies begin, and the width that they share; all in the units of the drawing.
const WIDTH: u32 = 320;
const DIES_LEFT: u32 = 92;
const DIES_WIDTH: u32 = WIDTH - DIES_LEFT - 4;

/// Controller at the left, one line per channel, dies on it, planes in each die.
fn draw(channels: u32, dies: u32, planes: u32) -> String {
    let (pitch, height) = (34, channels * 34 + 6);
    let gap = if dies <= 4 { 8 } else { 3 };
    let die_width = ((DIES_WIDTH - gap * (dies - 1)) / dies).min(64);
    let mut svg = format!(
        "<svg class=\"structure\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"Controller with {channels} channel(s), {dies} die(s) on each, {planes} plane(s) in each die\">"
    );
    // Writing to a String cannot fail.
    let _ = write!(
        svg,
        "<rect class=\"chip\" x=\"1\" y=\"3\" width=\"78\" height=\"{}\" rx=\"5\"/>\
         <text x=\"40\" y=\"{}\" text-anchor=\"middle\">controller</text>",
        height - 6,
        height / 2 + 4
    );
    for channel in 0..channels {
        let y = 3 + channel * pitch;
        let end = DIES_LEFT + dies * (die_width + gap) - gap;
        let _ = write!(svg, "<path class=\"bus\" d=\"M79 {0}H{1}\"/>", y + 17, end);
        for die in 0..dies {
            let x = DIES_LEFT + die * (die_width + gap);
            let _ = write!(
                svg,
                "<rect class=\"die\" x=\"{x}\" y=\"{}\" width=\"{die_width}\" height=\"26\" rx=\"3\"/>",
                y + 4
            );
            for plane in 1..planes {
                let px = x + die_width * plane / planes;
                let _ = write!(svg, "<path class=\"plane\" d=\"M{px} {}v18\"/>", y + 8);
            }
        }
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::Parameter;

    fn target(values: &[(&str, &str)]) -> TargetInfo {
        TargetInfo {
            parameters: values
                .iter()
                .map(|(name, value)| Parameter {
                    group: "nand".into(),
                    name: (*name).into(),
                    value: (*value).into(),
                    reason: String::new(),
                })
                .collect(),
            ..TargetInfo::default()
        }
    }

    #[test]
    fn draws_every_die_once() {
        let d = of_target(&target(&[
            ("channels", "2"),
            ("dies_per_channel", "4 dies"),
            ("planes", "2"),
        ]))
        .unwrap();
        assert_eq!(d.svg.matches("class=\"die\"").count(), 8);
        assert_eq!(d.svg.matches("class=\"plane\"").count(), 8);
        assert_eq!(d.caption, "2 channels × 4 dies × 2 planes");
    }

    /// The value of an attribute in every element of a class.
    fn values(svg: &str, class: &str, name: &str) -> Vec<u32> {
        svg.split('<')
            .filter(|e| e.contains(&format!("class=\"{class}\"")))
            .filter_map(|e| e.split(&format!(" {name}=\"")).nth(1)?.split('"').next())
            .filter_map(|v| v.parse().ok())
            .collect()
    }

    #[test]
    fn no_die_is_clipped_or_on_another() {
        for dies in 1..=MOST_DIES {
            let svg = draw(2, dies, 2);
            let (x, width) = (values(&svg, "die", "x"), values(&svg, "die", "width"));
            assert_eq!(x.len(), 2 * dies as usize);
            let ends: Vec<u32> = x.iter().zip(&width).map(|(x, w)| x + w).collect();
            assert!(ends.iter().all(|end| *end < WIDTH), "{dies}: {ends:?}");
            let apart = (1..dies as usize).all(|i| x[i] > ends[i - 1]);
            assert!(apart && width.iter().all(|w| *w >= 8), "{dies}");
        }
    }

    #[test]
    fn draws_nothing_where_it_knows_nothing() {
        assert_eq!(
            of_target(&target(&[("channels", "many"), ("dies_per_channel", "1")])),
            None
        );
        assert_eq!(of_target(&target(&[])), None);
        let huge = of_target(&target(&[
            ("channels", "4000000000"),
            ("dies_per_channel", "9"),
        ]))
        .unwrap();
        assert!(huge.svg.is_empty());
    }
}
