//! A report as files in a folder: the page, every plot as SVG, every series as CSV. Each file
//! appears whole or not at all. The result document itself is written by whoever measured.

use crate::error::{ReportError, Result};
use crate::names::Unique;
use crate::view::{chapter, fill};
use crate::{csv, html, svg, svg_bars};
use nandscope_measure::result::{ResultDocument, StepResult};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Writes `report.html`, `plots/<step>-<name>.svg` and `csv/<step>-<series>.csv` into `dir`, which
/// is made where it is missing, and gives the paths written, in order.
///
/// # Errors
/// Where something cannot be rendered or written; what was written before stays.
pub fn write_all(document: &ResultDocument, dir: &Path) -> Result<Vec<PathBuf>> {
    make(dir)?;
    let mut written = vec![dir.join("report.html")];
    write(&written[0], &html::render(document)?)?;
    let (plots, tables) = (dir.join("plots"), dir.join("csv"));
    let (mut plot_names, mut table_names) = (Unique::default(), Unique::default());
    for step in &document.steps {
        for plot in chapter::plots_for_files(step, &mut plot_names) {
            make(&plots)?;
            let path = plots.join(format!("{}.svg", plot.id));
            write(
                &path,
                &svg::plot(&plot, &format!("{}: {}", heading(step), plot.title))?,
            )?;
            written.push(path);
        }
        for series in &step.series {
            make(&tables)?;
            let name = table_names.slug(&format!("{} {}", step.id, series.name));
            let path = tables.join(format!("{name}.csv"));
            write(&path, &csv::of_series(series))?;
            written.push(path);
        }
        for curve in &step.curves {
            make(&tables)?;
            let name = table_names.slug(&format!("{} {} {}", step.id, curve.y_name, curve.name));
            let path = tables.join(format!("{name}.csv"));
            write(&path, &csv::of_curve(curve))?;
            written.push(path);
        }
    }
    for (name, text) in overviews(document, &mut plot_names)? {
        make(&plots)?;
        let path = plots.join(format!("{name}.svg"));
        write(&path, &text)?;
        written.push(path);
    }
    Ok(written)
}

/// The drawings that belong to no single step: the long writes, and the bars of every chapter.
fn overviews(document: &ResultDocument, names: &mut Unique) -> Result<Vec<(String, String)>> {
    let mut drawings = Vec::new();
    if let Some(fill) = fill::of(document) {
        for plot in [&fill.over_data, &fill.over_time] {
            drawings.push((names.slug(&plot.id), svg::plot(plot, &plot.title)?));
        }
    }
    for chapter in chapter::all(document) {
        for chart in &chapter.charts {
            let heading = format!("{}: {}", chapter.title, chart.title);
            let name = names.slug(&format!("{} {} {}", chapter.title, chart.title, chart.unit));
            drawings.push((name, svg_bars::chart(chart, &heading)?));
        }
    }
    Ok(drawings)
}

fn heading(step: &StepResult) -> String {
    match &step.mode {
        Some(mode) => format!("{}, {mode}", step.title),
        None => step.title.clone(),
    }
}

fn make(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).map_err(|source| ReportError::Write {
        action: "making the folder",
        path: dir.to_path_buf(),
        source,
    })
}

/// Writes a file such that it is the old or the new one at any time, also after a power cut: a
/// temporary file beside it, synced, renamed, and the folder synced.
///
/// # Errors
/// Where the system refuses one of these; the temporary file is then removed.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let fault = |action: &'static str| {
        move |source: std::io::Error| ReportError::Write {
            action,
            path: path.to_path_buf(),
            source,
        }
    };
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let done = File::create(&temporary)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, path));
    if done.is_err() {
        // The first error is the one to tell of.
        let _ = fs::remove_file(&temporary);
    }
    done.map_err(fault("writing"))?;
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)
            .and_then(|folder| folder.sync_all())
            .map_err(fault("syncing the folder of")),
        _ => Ok(()),
    }
}
