//! Pixels under the drawing library, and the PNG file of them: twice as many each way as an SVG file has, each the mean of
//! four samples, so that edges are smooth. It draws what plots and charts need: opaque strokes, areas, dots and texts.

use miniz_oxide::deflate::compress_to_vec_zlib;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{FontDesc, RGBAColor, TextStyle};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};
use std::convert::Infallible;

/// Pixels of the file for each unit of a drawing, and samples for each pixel, each way.
const PIXELS: usize = 2;
const SAMPLES: usize = 2;
/// Samples for each unit.
const FINE: i32 = (PIXELS * SAMPLES) as i32;
/// Em of a text as a share of its line height in SVG files of the drawing library, then the line height of the font.
const EM: f64 = 1.0 / 1.24;
const LINE: f64 = 1.164;
/// Compression of the file, 0 to 10.
const LEVEL: u8 = 6;

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

/// A white area that is drawn on.
pub(crate) struct Raster {
    /// Size of the drawing, in its units.
    size: (u32, u32),
    samples: Samples,
}

impl Raster {
    /// A white area of this many units.
    pub(crate) fn new(size: (u32, u32)) -> Self {
        let fine = (size.0 * FINE as u32, size.1 * FINE as u32);
        Raster {
            size,
            samples: Samples {
                size: fine,
                colours: vec![[u8::MAX; 3]; fine.0 as usize * fine.1 as usize],
            },
        }
    }

    /// The area as a PNG file.
    pub(crate) fn png(&self) -> Vec<u8> {
        let (width, height) = (self.size.0 * PIXELS as u32, self.size.1 * PIXELS as u32);
        let mut rows = Vec::with_capacity((width as usize * 3 + 1) * height as usize);
        for y in 0..height as usize {
            // Rows are not filtered: plain areas compress well as they are.
            rows.push(0);
            for x in 0..width as usize {
                rows.extend(self.samples.mean(x * SAMPLES, y * SAMPLES));
            }
        }
        let mut header = Vec::new();
        header.extend(width.to_be_bytes());
        header.extend(height.to_be_bytes());
        // Eight bits for each of red, green and blue; the only compression and filter; not interlaced.
        header.extend([8, 2, 0, 0, 0]);
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        chunk(&mut file, *b"IHDR", &header);
        chunk(&mut file, *b"IDAT", &compress_to_vec_zlib(&rows, LEVEL));
        chunk(&mut file, *b"IEND", &[]);
        file
    }
}

/// Appends a chunk: length, kind, data and their CRC (PNG, third edition, 5.3).
fn chunk(file: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    file.extend((data.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend(kind);
    file.extend(data);
    let crc = crc32fast::hash(&file[start..]);
    file.extend(crc.to_be_bytes());
}

fn fine(at: BackendCoord) -> BackendCoord {
    (at.0.saturating_mul(FINE), at.1.saturating_mul(FINE))
}

/// The methods that all surfaces in memory share: their size, and drawing without errors.
macro_rules! in_memory {
    () => {
        type ErrorType = Infallible;

        fn get_size(&self) -> (u32, u32) {
            self.size
        }

        fn ensure_prepared(&mut self) -> Drawn {
            Ok(())
        }

        fn present(&mut self) -> Drawn {
            Ok(())
        }
    };
}

impl DrawingBackend for &mut Raster {
    in_memory!();

    fn draw_pixel(&mut self, point: BackendCoord, colour: BackendColor) -> Drawn {
        let next = (point.0 + 1, point.1 + 1);
        self.draw_rect(point, next, &colour, true)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn {
        self.samples.stroke(fine(from), fine(to), style);
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let (from, to) = (fine(upper_left), fine(bottom_right));
        if fill {
            for y in from.1..to.1 {
                for x in from.0..to.0 {
                    self.samples.put((x, y), style.color());
                }
            }
            return Ok(());
        }
        let corners = [from, (to.0, from.1), to, (from.0, to.1), from];
        for pair in corners.windows(2) {
            self.samples.stroke(pair[0], pair[1], style);
        }
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let mut before = None;
        for to in path.into_iter().map(fine) {
            if let Some(from) = before.replace(to) {
                self.samples.stroke(from, to, style);
            }
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let radius = radius * FINE as u32;
        self.samples
            .draw_circle(fine(center), radius, &style.color(), fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Drawn {
        let corners = corners.into_iter().map(fine);
        self.samples.fill_polygon(corners, &style.color())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Drawn {
        let em = style.size() * EM * f64::from(FINE);
        let size = em * LINE;
        let colour = style.color();
        let (r, g, b) = colour.rgb;
        let ink = RGBAColor(r, g, b, colour.alpha);
        let font = FontDesc::new(style.family(), size, style.style());
        let set = TextStyle::from(font).color(&ink);
        let failed = |e| DrawingErrorKind::FontError(Box::new(e));
        let (_, (width, _)) = set.layout_box(text).map_err(failed)?;
        let dx = match style.anchor().h_pos {
            HPos::Left => 0,
            HPos::Right => -width,
            HPos::Center => -width / 2,
        };
        // The base line, as SVG files have it: from the place in ems.
        let base = match style.anchor().v_pos {
            VPos::Top => 0.76,
            VPos::Center => 0.27,
            VPos::Bottom => -0.27,
        };
        // The library sets a text with its base line at half the size.
        let dy = (base * em - size / 2.0) as i32;
        let (transform, at) = (style.transform(), fine(at));
        let drawn = set.draw::<Infallible, _>(text, (0, 0), |x, y, colour| {
            let (x, y) = transform.transform(x + dx, y + dy);
            self.samples.put((at.0 + x, at.1 + y), colour);
            Ok(())
        });
        match drawn.map_err(failed)? {
            Ok(()) => Ok(()),
            Err(never) => match never {},
        }
    }
}

/// Colours in a fine grid.
struct Samples {
    size: (u32, u32),
    colours: Vec<[u8; 3]>,
}

impl Samples {
    /// Mixes a colour into a sample; nothing outside of the area.
    fn put(&mut self, at: BackendCoord, colour: BackendColor) {
        let inside =
            (0..self.size.0 as i32).contains(&at.0) && (0..self.size.1 as i32).contains(&at.1);
        if !inside {
            return;
        }
        let index = at.1 as usize * self.size.0 as usize + at.0 as usize;
        if let Some(old) = self.colours.get_mut(index) {
            let new = [colour.rgb.0, colour.rgb.1, colour.rgb.2];
            for (old, new) in old.iter_mut().zip(new) {
                let mixed = f64::from(new) * colour.alpha + f64::from(*old) * (1.0 - colour.alpha);
                *old = (mixed + 0.5) as u8;
            }
        }
    }

    /// A line with round ends, which join those of the next one.
    fn stroke(&mut self, from: BackendCoord, to: BackendCoord, style: &impl BackendStyle) {
        let (colour, width) = (style.color(), style.stroke_width() as i32 * FINE);
        if colour.alpha == 0.0 {
            return;
        }
        let reach = width / 2 + 1;
        let span = |a: i32, b: i32, end: u32| {
            let low = a.min(b).saturating_sub(reach).max(0);
            low..a.max(b).saturating_add(reach).min(end as i32)
        };
        let (dx, dy) = (
            f64::from(to.0) - f64::from(from.0),
            f64::from(to.1) - f64::from(from.1),
        );
        let length = dx * dx + dy * dy;
        let radius = f64::from(width) / 2.0;
        for y in span(from.1, to.1, self.size.1) {
            for x in span(from.0, to.0, self.size.0) {
                let (px, py) = (f64::from(x - from.0), f64::from(y - from.1));
                let along = match length > 0.0 {
                    true => ((px * dx + py * dy) / length).clamp(0.0, 1.0),
                    false => 0.0,
                };
                let (ox, oy) = (px - along * dx, py - along * dy);
                if ox * ox + oy * oy < radius * radius {
                    self.put((x, y), colour);
                }
            }
        }
    }

    /// The mean of the samples of the pixel that begins here.
    fn mean(&self, x: usize, y: usize) -> [u8; 3] {
        let mut sums = [0u32; 3];
        for row in y..y + SAMPLES {
            let start = row * self.size.0 as usize + x;
            for colour in self
                .colours
                .get(start..start + SAMPLES)
                .into_iter()
                .flatten()
            {
                for (sum, part) in sums.iter_mut().zip(colour) {
                    *sum += u32::from(*part);
                }
            }
        }
        sums.map(|sum| (sum / (SAMPLES * SAMPLES) as u32) as u8)
    }
}

impl DrawingBackend for Samples {
    in_memory!();

    fn draw_pixel(&mut self, point: BackendCoord, colour: BackendColor) -> Drawn {
        self.put(point, colour);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::style::{BLACK, Color, ShapeStyle};

    fn dark(raster: &Raster, x: usize, y: usize) -> bool {
        raster.samples.mean(x * SAMPLES, y * SAMPLES)[0] < 128
    }

    #[test]
    fn strokes_have_their_width_and_leave_no_gap_at_a_corner() {
        let mut raster = Raster::new((20, 20));
        let style = ShapeStyle {
            color: BLACK.to_rgba(),
            filled: true,
            stroke_width: 2,
        };
        let path = [(5, 15), (10, 5), (15, 15)];
        (&mut raster).draw_path(path, &style).unwrap();
        assert!(dark(&raster, 20, 10) && dark(&raster, 10, 30));
        assert!(!dark(&raster, 20, 16) && !dark(&raster, 20, 4));
        (&mut raster)
            .draw_line((i32::from(i16::MIN), 2), (i32::from(i16::MAX), 2), &style)
            .unwrap();
        assert!(dark(&raster, 0, 4) && dark(&raster, 39, 4));
    }

    #[test]
    fn a_transparent_colour_is_mixed_with_what_is_there() {
        let mut raster = Raster::new((4, 4));
        let half = BLACK.mix(0.5);
        (&mut raster)
            .draw_rect((1, 1), (3, 3), &half, true)
            .unwrap();
        assert_eq!(raster.samples.mean(8, 8), [128; 3]);
        assert_eq!(raster.samples.mean(0, 0), [255; 3]);
    }
}
