//! The files of a command: every file that it reads or writes is claimed before anything is written. Two roles of one
//! file are refused with both names, whatever links lead to it.

use crate::failure::Failure;
use crate::output;
use nandscope_experiment::run::{log_names, trace_file};
use nandscope_files::Claims;
use nandscope_workload::job::JobFile;
use std::path::{Path, PathBuf};

/// Files of a report besides `result.json` and the plots.
const REPORT: [&str; 4] = [
    "report.html",
    "series.csv",
    "series-index.csv",
    "series.parquet",
];
/// Folder of the plots in that of a report.
const PLOTS: &str = "plots";
/// Ending of the marker file next to a target created by nandscope.
const MARKER: &str = ".nandscope-made";

/// The files of a command.
#[derive(Debug, Default)]
pub struct FileClaims {
    claims: Claims,
    /// Single files that the user named as outputs.
    outputs: Vec<PathBuf>,
    /// Files beside them, whose names the user did not give: a link is refused.
    beside: Vec<PathBuf>,
}

impl FileClaims {
    /// Claims a file that the command reads.
    ///
    /// # Errors
    /// `Exit::Usage` if it writes this file as well.
    pub fn input(&mut self, role: &str, path: &Path) -> Result<(), Failure> {
        Ok(self.claims.read(role, path)?)
    }

    /// Claims several files that the command reads.
    ///
    /// # Errors
    /// As [`FileClaims::input`].
    pub fn inputs<'a>(
        &mut self,
        role: &str,
        paths: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<(), Failure> {
        paths
            .into_iter()
            .try_for_each(|path| self.input(role, path))
    }

    /// Claims the target of this name: a profile, a saved device, or a file or device with the file behind it.
    ///
    /// # Errors
    /// As [`FileClaims::input`].
    pub fn target(&mut self, name: &str) -> Result<(), Failure> {
        if let Some(saved) = name.strip_prefix("sim:saved:") {
            return self.input("the saved device", Path::new(saved));
        }
        if let Some(place) = name.strip_prefix("sim:") {
            return self.profile("the device profile", place);
        }
        let path = Path::new(name);
        if let Some(backing) = backing_file(path) {
            self.input(&format!("the file of {name},"), &backing)?;
        }
        if path.is_dir() {
            return Ok(());
        }
        let mut marker = path.as_os_str().to_os_string();
        marker.push(MARKER);
        self.input("the marker of the target", Path::new(&marker))?;
        self.input("the target", path)
    }

    /// Claims the profile of a host.
    ///
    /// # Errors
    /// As [`FileClaims::input`].
    pub fn host(&mut self, name: Option<&str>) -> Result<(), Failure> {
        name.map_or(Ok(()), |place| self.profile("the host profile", place))
    }

    /// Claims a profile by name; a library profile is no file.
    fn profile(&mut self, role: &str, place: &str) -> Result<(), Failure> {
        match Path::new(place) {
            path if place.contains(['/', '.']) && path.exists() => self.input(role, path),
            _ => Ok(()),
        }
    }

    /// Claims the traces that the jobs read.
    ///
    /// # Errors
    /// As [`FileClaims::input`].
    pub fn traces(&mut self, jobs: &JobFile) -> Result<(), Failure> {
        for job in &jobs.jobs {
            let trace = job.trace.as_ref().and_then(|trace| trace_file(job, trace));
            self.inputs("the trace", &trace)?;
        }
        Ok(())
    }

    /// Claims the logs of the jobs, which go into this folder.
    ///
    /// # Errors
    /// `Exit::Usage` if one of them is another file of the command.
    pub fn logs(&mut self, jobs: &JobFile, folder: &Path) -> Result<(), Failure> {
        for (option, name) in log_names(jobs) {
            let role = format!("the log of `{option}`,");
            self.claims.write(&role, &folder.join(name))?;
        }
        Ok(())
    }

    /// Claims a file that the user named as output. `role` is the option.
    ///
    /// # Errors
    /// `Exit::Usage` if it is another file of the command.
    pub fn output(&mut self, role: &str, path: &Path) -> Result<(), Failure> {
        self.claims.write(role, path)?;
        self.outputs.push(path.to_path_buf());
        Ok(())
    }

    /// Claims a file next to one that the user named. A link of that name is not followed.
    ///
    /// # Errors
    /// `Exit::Usage` if it is another file of the command.
    pub fn beside(&mut self, role: &str, path: &Path) -> Result<(), Failure> {
        self.claims.write(role, path)?;
        self.beside.push(path.to_path_buf());
        Ok(())
    }

    /// Claims numbered files: all whose path begins with `beginning`.
    ///
    /// # Errors
    /// `Exit::Usage` if one of them is another file of the command.
    pub fn numbered(&mut self, role: &str, beginning: &Path) -> Result<(), Failure> {
        Ok(self.claims.write_beginning(role, beginning)?)
    }

    /// Claims a file that the command writes next to another one, or in a folder.
    ///
    /// # Errors
    /// `Exit::Usage` if it is another file of the command.
    pub fn file(&mut self, role: &str, path: &Path) -> Result<(), Failure> {
        Ok(self.claims.write(role, path)?)
    }

    /// Claims the page, the tables and the plots of a report.
    ///
    /// # Errors
    /// `Exit::Usage` if one of them is another file of the command.
    pub fn report(&mut self, folder: &Path) -> Result<(), Failure> {
        for name in REPORT {
            self.file("the report's", &folder.join(name))?;
        }
        Ok(self
            .claims
            .write_inside("the report's", &folder.join(PLOTS))?)
    }

    /// Claims a report, its result, and the journal of finished steps.
    ///
    /// # Errors
    /// As [`FileClaims::report`].
    pub fn result(&mut self, folder: &Path) -> Result<(), Failure> {
        self.file("the result", &folder.join(output::RESULT))?;
        self.file("the journal", &folder.join(crate::steps::IN_FOLDER))?;
        self.report(folder)
    }

    /// Makes sure that the files of [`FileClaims::output`] and [`FileClaims::beside`] can be written later.
    ///
    /// # Errors
    /// `Exit::File` if one of them cannot be written now; `Exit::Usage` if another program has it locked.
    pub fn check(&self) -> Result<(), Failure> {
        for path in &self.outputs {
            nandscope_files::check(path)?;
        }
        for path in &self.beside {
            let name = path.file_name().unwrap_or_default();
            let folder = nandscope_files::folder_of(path);
            nandscope_files::check_in(folder, Path::new(name))?;
            nandscope_files::check_folder(folder)?;
        }
        Ok(())
    }
}

/// The file behind a loop device or a partition of one.
#[cfg(target_os = "linux")]
fn backing_file(device: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    let about = std::fs::metadata(device).ok()?;
    if !about.file_type().is_block_device() {
        return None;
    }
    let number = about.rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let entry = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let entry = entry.canonicalize().ok()?;
    let places = [Some(entry.as_path()), entry.parent()];
    let mut found = places.into_iter().flatten();
    let text =
        found.find_map(|entry| std::fs::read_to_string(entry.join("loop/backing_file")).ok())?;
    Some(PathBuf::from(text.trim_end_matches('\n')))
}

#[cfg(not(target_os = "linux"))]
fn backing_file(_: &Path) -> Option<PathBuf> {
    None
}
