//! Drawings as files of one style: SVG, and PNG with the same strokes and texts. Independent of plots and charts, which
//! draw themselves.

use crate::encode::for_markup;
use crate::error::{ReportError, Result};
use crate::raster::Raster;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;
use std::sync::Once;

/// Outcome of drawing.
pub(crate) type DrawResult = std::result::Result<(), Box<dyn std::error::Error>>;

/// Something that draws itself into an area of its size.
pub(crate) trait Drawable {
    /// Width and height, in pixels of the SVG file.
    fn size(&self) -> (u32, u32);

    /// Draws it under a heading.
    ///
    /// # Errors
    /// The error of the drawing library.
    fn draw<DB: DrawingBackend>(&self, heading: &str, root: &DrawingArea<DB, Shift>) -> DrawResult
    where
        DB::ErrorType: 'static;
}

/// The drawing as an SVG document.
///
/// # Errors
/// `ReportError` if the drawing library fails.
pub(crate) fn svg(drawable: &impl Drawable, heading: &str) -> Result<String> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, drawable.size()).into_drawing_area();
    on(drawable, heading, area)?;
    Ok(for_markup(text))
}

/// The drawing as a PNG file of twice the size.
///
/// # Errors
/// `ReportError` if the drawing library fails.
pub(crate) fn png(drawable: &impl Drawable, heading: &str) -> Result<Vec<u8>> {
    let mut raster = Raster::new(drawable.size());
    on(drawable, heading, (&mut raster).into_drawing_area())?;
    Ok(raster.png())
}

fn on<DB: DrawingBackend>(
    drawable: &impl Drawable,
    heading: &str,
    area: DrawingArea<DB, Shift>,
) -> Result<()>
where
    DB::ErrorType: 'static,
{
    prepare_font();
    let drawn = drawable.draw(heading, &area);
    drawn.map_err(|e| ReportError::Draw {
        plot: heading.to_string(),
        reason: e.to_string(),
    })
}

/// Sets one font for measuring and drawing text on every machine; an SVG file names the reader's own font.
fn prepare_font() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let font = include_bytes!("../assets/dejavu/DejaVuSans.ttf");
        // A font that cannot be read leaves the name unknown, which drawing reports; a test draws.
        let _ = register_font("sans-serif", FontStyle::Normal, font);
    });
}
