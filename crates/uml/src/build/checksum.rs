//! SHA-256 of a tarball, compared with the expected one or with those of known tarballs. Debian's
//! package manager checks Debian's signature itself.

use super::error::BuildError;
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Known source archives.
const KNOWN: [(&str, &str); 2] = [
    (
        "2ca1f17051a430f6fed1196e4952717507171acfd97d96577212502703b25deb",
        "linux-6.1.tar.xz of kernel.org",
    ),
    (
        "4d415b3d364834fd818270e88813e90323bbfce4f519a0e6bd4940ddcd7df693",
        "linux-source-6.1.tar.xz of Debian's 6.1.192-2",
    ),
];

/// A SHA-256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum(String);

impl Checksum {
    /// Parses an expected checksum of 64 hexadecimal digits.
    ///
    /// # Errors
    /// `BuildError::NoChecksum` if the text has another form.
    pub fn parse(text: &str) -> Result<Self, BuildError> {
        let digits = text.trim();
        if digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(Checksum(digits.to_ascii_lowercase()))
        } else {
            Err(BuildError::NoChecksum("write 64 hexadecimal digits"))
        }
    }

    /// Calculates the checksum of a file.
    ///
    /// # Errors
    /// `BuildError::Io` if the file cannot be read.
    pub fn of(path: &Path) -> Result<Self, BuildError> {
        let sum = || -> io::Result<String> {
            let mut file = File::open(path)?;
            let mut hash = Sha256::new();
            let mut chunk = vec![0; 1 << 20];
            loop {
                let got = file.read(&mut chunk)?;
                if got == 0 {
                    break;
                }
                hash.update(&chunk[..got]);
            }
            Ok(hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
        };
        sum().map(Checksum).map_err(|source| BuildError::Io {
            place: path.display().to_string(),
            source,
        })
    }

    /// The known tarball with this checksum.
    pub fn known(&self) -> Option<&'static str> {
        let mut all = KNOWN.iter();
        all.find(|(sum, _)| *sum == self.0).map(|(_, name)| *name)
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn the_sum_is_that_of_sha256sum() {
        let folder = Scratch::new(&std::env::temp_dir(), "nandscope-sum").unwrap();
        let file = folder.path().join("abc");
        std::fs::write(&file, "abc").unwrap();
        let sum = "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD";
        assert_eq!(Checksum::of(&file).unwrap(), Checksum::parse(sum).unwrap());
        assert_eq!(Checksum::of(&file).unwrap().known(), None);
        assert!(Checksum::of(folder.path()).is_err());
    }

    #[test]
    fn only_sums_are_sums() {
        for wrong in ["", "12", &"g".repeat(64), &"a".repeat(63), &"a".repeat(65)] {
            assert!(Checksum::parse(wrong).is_err(), "{wrong}");
        }
        for (sum, name) in KNOWN {
            assert_eq!(Checksum::parse(sum).unwrap().known(), Some(name));
        }
    }
}
