//! A generated folder that matches a spec: its folders and files, their sizes and the lengths of
//! their names. Sizes are log-normal, as those of real file systems
//! are (Agrawal et al., "A Five-Year Study of File-System Metadata", FAST 2007), scaled so that
//! their sum is the spec's to the byte.

use super::{FolderSpec, SpecError};
use crate::pattern::Random;
use nandscope_units::saturating_u32;

/// A folder of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Folder {
    /// Number of the parent folder; `None` for the top folder. Parents precede their children.
    pub parent: Option<u32>,
    /// Length of the folder's name in UTF-16 units, as exFAT counts.
    pub name_units: u32,
}

/// A file of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct File {
    /// Number of the file's folder.
    pub folder: u32,
    /// Size of the file in bytes, at least 1.
    pub bytes: u64,
    /// Length of the file's name in UTF-16 units.
    pub name_units: u32,
}

/// A folder with all of its contents. Files are in the order in which a copy meets them, folder by folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileTree {
    folders: Vec<Folder>,
    files: Vec<File>,
}

/// Purposes of random numbers; each has its own sequence.
mod purpose {
    pub(super) const SIZE: u64 = 1;
    pub(super) const FOLDER: u64 = 2;
    pub(super) const PARENT: u64 = 3;
    pub(super) const FILE_NAME: u64 = 4;
    pub(super) const FOLDER_NAME: u64 = 5;
}

impl FileTree {
    /// The tree of a spec.
    ///
    /// # Errors
    /// Returns [`SpecError`] if the numbers of the spec contradict one another.
    pub fn generate(spec: &FolderSpec) -> Result<FileTree, SpecError> {
        spec.check()?;
        let random = |purpose| Random::new(spec.seed, &[purpose]);
        let mut parents = random(purpose::PARENT);
        let mut names = random(purpose::FOLDER_NAME);
        let folders = (0..spec.folders)
            .map(|i| Folder {
                parent: (i > 0).then(|| saturating_u32(parents.below(i.into()))),
                name_units: 4 + saturating_u32(names.below(21)),
            })
            .collect();
        let mut homes = random(purpose::FOLDER);
        let mut names = random(purpose::FILE_NAME);
        let mut files: Vec<File> = sizes(spec)
            .into_iter()
            .map(|bytes| File {
                folder: saturating_u32(homes.below(spec.folders.into())),
                bytes,
                name_units: 8 + saturating_u32(names.below(33)),
            })
            .collect();
        files.sort_by_key(|f| f.folder);
        Ok(FileTree { folders, files })
    }

    /// The folders, the top one first, parents before children.
    pub fn folders(&self) -> &[Folder] {
        &self.folders
    }

    /// The files, folder by folder.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The sum of the file sizes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum()
    }
}

/// By the method of G. Box and M. Muller (1958).
fn standard_normal(random: &mut Random) -> f64 {
    // Above zero, for the logarithm.
    let radius = 1.0 - random.unit();
    let angle = core::f64::consts::TAU * random.unit();
    libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(angle)
}

/// Log-normal sizes with the spec's sum; each at least 1.
fn sizes(spec: &FolderSpec) -> Vec<u64> {
    let count = u64::from(spec.files);
    let mut random = Random::new(spec.seed, &[purpose::SIZE]);
    let weights: Vec<f64> = (0..count)
        .map(|_| libm::exp(spec.spread * standard_normal(&mut random)))
        .collect();
    let total: f64 = weights.iter().sum();
    // One byte for each file first; the rest is distributed by weight, so that the sum is not exceeded.
    let to_deal = spec.bytes.0 - count;
    let share = |w: &f64| 1 + (w / total * to_deal as f64) as u64;
    let mut sizes: Vec<u64> = weights.iter().map(share).collect();
    // The largest file gets the remainder of the rounding.
    let sum: u64 = sizes.iter().sum();
    if let Some(largest) = sizes.iter_mut().max() {
        *largest = (*largest + spec.bytes.0).saturating_sub(sum).max(1);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::das_suite;
    use nandscope_units::Bytes;
    use proptest::prelude::*;

    #[test]
    fn the_das_suite_is_exact() {
        let published = [
            (24_030_000_000, 1263, 109),
            (18_860_000_000, 7627, 382),
            (23_090_000_000, 111, 10),
            (28_610_000_000, 4, 1),
        ];
        for (spec, expected) in das_suite().iter().zip(published) {
            let tree = FileTree::generate(spec).unwrap();
            let got = (tree.bytes(), tree.files().len(), tree.folders().len());
            assert_eq!(got, expected, "{}", spec.name);
        }
    }

    #[test]
    fn sizes_are_log_normal() {
        let spec = &das_suite()[1];
        let tree = FileTree::generate(spec).unwrap();
        let logs: Vec<f64> = tree
            .files()
            .iter()
            .map(|f| libm::log(f.bytes as f64))
            .collect();
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let deviation = libm::sqrt(logs.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n);
        // Five standard errors of a deviation, sigma / sqrt(2n).
        assert!(
            (deviation - spec.spread).abs() < 5.0 * spec.spread / libm::sqrt(2.0 * n),
            "{deviation}"
        );
        let below_mean = logs.iter().filter(|&&x| x < mean).count() as f64 / n;
        assert!((below_mean - 0.5).abs() < 0.03, "{below_mean}");
    }

    #[test]
    fn a_blu_ray_is_a_few_huge_files() {
        let tree = FileTree::generate(&das_suite()[2]).unwrap();
        let mut sizes: Vec<u64> = tree.files().iter().map(|f| f.bytes).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let top: u64 = sizes[..10].iter().sum();
        assert!(top as f64 > 0.7 * tree.bytes() as f64, "{sizes:?}");
    }

    proptest! {
        #[test]
        fn any_spec_is_met_exactly(files in 1..400u32, folders in 1..40u32, extra in 0..1u64 << 50, spread in 0.0..10.0, seed: u64) {
            let bytes = Bytes(u64::from(files) + extra);
            let spec = FolderSpec { spread, seed, ..FolderSpec::new("x", bytes, files, folders) };
            let tree = FileTree::generate(&spec).unwrap();
            prop_assert_eq!(tree.bytes(), bytes.0);
            prop_assert!(tree.files().iter().all(|f| f.bytes >= 1 && f.folder < folders));
            prop_assert!(tree.files().is_sorted_by_key(|f| f.folder));
            for (i, folder) in (0u32..).zip(tree.folders()) {
                prop_assert_eq!(folder.parent.is_none(), i == 0);
                prop_assert!(folder.parent.is_none_or(|p| p < i));
            }
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let base = FolderSpec::new("x", Bytes(10), 5, 1);
        for (spec, part) in [
            (
                FolderSpec {
                    files: 11,
                    ..base.clone()
                },
                "at least 11 bytes",
            ),
            (
                FolderSpec {
                    files: 0,
                    ..base.clone()
                },
                "no file",
            ),
            (
                FolderSpec {
                    folders: 0,
                    ..base.clone()
                },
                "at least 1",
            ),
            (
                FolderSpec {
                    spread: f64::NAN,
                    ..base.clone()
                },
                "spread",
            ),
        ] {
            let message = FileTree::generate(&spec).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
