//! Variants worth trying when a file system is made on a card: mkfs options derived from the card's
//! allocation unit and page, and partition offsets. It contains no measurements.

use crate::filesystem::FileSystem;
use nandscope_units::Bytes;

/// A way to make a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// A name for people that is the same for every card.
    pub name: String,
    /// Options for mkfs; none for the default and for the places of the partition.
    pub mkfs: String,
    /// Offset of the partition, if this differs.
    pub partition: Option<Bytes>,
    /// Intended effect.
    pub purpose: String,
}

/// Name of the variant that the others are compared with.
pub const DEFAULT: &str = "default";
/// Name of the partition that is aligned like the whole card.
pub const AT_ONE_AU: &str = "at one AU";

/// Blocks of ext4 and NILFS2, bytes.
const BLOCK: u64 = 4096;
/// F2FS's segment: 512 blocks.
const SEGMENT: Bytes = Bytes::mib(2);
/// NILFS2's default segment: 2048 blocks.
const NILFS2_SEGMENT: Bytes = Bytes::mib(8);
/// Segments of NILFS2 as short as F2FS has them.
const NILFS2_SHORT: Bytes = Bytes::mib(2);
/// exFAT's default boundary.
const EXFAT_BOUNDARY: Bytes = Bytes::mib(1);
/// Traditional start of partitions, from disks with 63 sectors per track.
const SECTOR_63: Bytes = Bytes(63 * 512);

impl Variant {
    fn of(name: &str, mkfs: &str, purpose: &str) -> Variant {
        Variant {
            name: name.to_string(),
            mkfs: mkfs.to_string(),
            partition: None,
            purpose: purpose.to_string(),
        }
    }

    /// True for the default, with which the others are compared.
    pub fn is_default(&self) -> bool {
        self.name == DEFAULT
    }

    /// Part of a cell's name, such as `sections-of-an-au`.
    pub fn slug(&self) -> String {
        nandscope_result::slug(&self.name)
    }

    /// Suffix of the name of a cell of it: `-` and the slug; empty for the default.
    pub fn suffix(&self) -> String {
        match self.is_default() {
            true => String::new(),
            false => format!("-{}", self.slug()),
        }
    }

    /// Its name, with what it changes in parentheses.
    pub fn label(&self) -> String {
        match self.is_default() {
            true => self.name.clone(),
            false => format!("{} ({})", self.name, self.options()),
        }
    }

    /// The changed options, such as `-s 4` or `partition at 8 MiB`; `-` for the default.
    pub fn options(&self) -> String {
        match self.partition {
            Some(start) if start.0.is_multiple_of(BLOCK) => format!("partition at {start}"),
            Some(start) => format!("partition at sector {}", start.sectors()),
            None if self.mkfs.is_empty() => "-".to_string(),
            None => self.mkfs.clone(),
        }
    }
}

/// The default of a file system and all variants worth trying, on a card with allocation units of `unit`
/// and pages of `page`. There are no duplicates, and none that equal the default.
pub fn variants(fs: FileSystem, unit: Bytes, page: Bytes) -> Vec<Variant> {
    // Devices have sizes in this range, and no divisor below may be zero.
    let unit = Bytes(unit.0.clamp(BLOCK, 1 << 40));
    let page = Bytes(page.0.clamp(BLOCK, unit.0));
    let mut all = vec![Variant::of(
        DEFAULT,
        "",
        "the defaults of mkfs, on the whole card",
    )];
    all.extend(match fs {
        FileSystem::Ext4 => ext4(unit, page),
        FileSystem::F2fs => f2fs(unit),
        FileSystem::Nilfs2 => nilfs2(unit),
        FileSystem::Vfat => vfat(),
        FileSystem::Exfat => exfat(unit),
        FileSystem::Btrfs => btrfs(),
        FileSystem::Xfs => xfs(unit, page),
    });
    all.extend(partitions(unit));
    all
}

fn ext4(unit: Bytes, page: Bytes) -> Vec<Variant> {
    let (stride, width) = (page.0.div_ceil(BLOCK), unit.0.div_ceil(BLOCK));
    vec![
        Variant::of(
            "stripes of an AU",
            &format!("-E stride={stride},stripe_width={width}"),
            "large files begin with an AU, bitmaps with a page",
        ),
        Variant::of(
            "no journal",
            "-O ^has_journal",
            "nothing is written twice, but after a power cut everything must be checked, and files can be lost",
        ),
        Variant::of(
            "no joined groups",
            "-G 1",
            "bitmaps and inodes are in each group of 128 MiB, near its data",
        ),
        Variant::of(
            "64 joined groups",
            "-G 64",
            "bitmaps and inodes of 8 GiB are side by side, by default of 2 GiB",
        ),
        Variant::of(
            "metadata in front",
            "-E packed_meta_blocks=1",
            "bitmaps, inodes and journal are at the beginning, where cards expect a FAT",
        ),
        Variant::of(
            "clusters of 64 KiB",
            "-O bigalloc -C 65536",
            "space is given out in clusters of 64 KiB",
        ),
    ]
}

fn f2fs(unit: Bytes) -> Vec<Variant> {
    // The shortest section made of whole AUs, if it is short enough for a section.
    let whole = (1..=64).find(|n| (n * SEGMENT.0).is_multiple_of(unit.0));
    let au = whole.unwrap_or(unit.0.div_ceil(SEGMENT.0));
    let named = |segments: u64| {
        let name = match segments * SEGMENT.0 {
            size if size == unit.0 => "sections of an AU".to_string(),
            size if size == 2 * unit.0 => "sections of two AUs".to_string(),
            size => format!("sections of {}", Bytes(size)),
        };
        let purpose =
            "a log fills a section before it begins another, and cleaning frees whole sections";
        Variant::of(&name, &format!("-s {segments}"), purpose)
    };
    let mut sections = vec![2, au, 2 * au];
    sections.sort_unstable();
    sections.dedup();
    let mut all: Vec<_> = sections.into_iter().filter(|n| *n > 1).map(named).collect();
    all.push(Variant::of(
        "logs far apart",
        "-a 1",
        "the six logs begin at places all over the card instead of side by side",
    ));
    all
}

fn nilfs2(unit: Bytes) -> Vec<Variant> {
    // The tool takes powers of two only.
    let au = unit.0.next_power_of_two().max(NILFS2_SHORT.0);
    let mut segments = vec![NILFS2_SHORT.0, au, 2 * au];
    segments.sort_unstable();
    segments.dedup();
    let others = segments
        .into_iter()
        .filter(|size| *size != NILFS2_SEGMENT.0);
    others
        .map(|size| {
            let name = match size {
                size if size == unit.0 => "segments of an AU".to_string(),
                size if size == 2 * unit.0 => "segments of two AUs".to_string(),
                size => format!("segments of {}", Bytes(size)),
            };
            let options = format!("-B {}", size / BLOCK);
            let purpose =
                "length of a contiguous piece of the log, by default 8 MiB, and the unit of cleaning";
            Variant::of(&name, &options, purpose)
        })
        .collect()
}

fn vfat() -> Vec<Variant> {
    vec![
        Variant::of(
            "clusters of 4 KiB",
            "-s 8",
            "small files lie close together, for a larger FAT",
        ),
        Variant::of(
            "clusters of 32 KiB",
            "-s 64",
            "what SD cards up to 32 GB are sold with, by default here 64 KiB",
        ),
        Variant::of(
            "one FAT",
            "-f 1",
            "every change of the FAT is written once, and there is no second copy of it",
        ),
    ]
}

fn exfat(unit: Bytes) -> Vec<Variant> {
    let mut all = vec![
        Variant::of(
            "clusters of 4 KiB",
            "-c 4K",
            "small files lie close together",
        ),
        Variant::of(
            "clusters of 128 KiB",
            "-c 128K",
            "what SD cards from 64 GB on are sold with",
        ),
    ];
    // The tool takes powers of two only.
    let boundary = Bytes(unit.0.next_power_of_two());
    if boundary > EXFAT_BOUNDARY {
        let name = if boundary == unit {
            "data from an AU on".to_string()
        } else {
            format!("data from {boundary} on")
        };
        let option = format!("-b {}K", boundary.0 / 1024);
        all.push(Variant::of(
            &name,
            &option,
            "FAT and clusters do not share an AU",
        ));
        all.push(Variant::of(
            &format!("{name}, bitmap before"),
            &format!("{option} --pack-bitmap"),
            "FAT and bitmap share an AU, and the clusters have others",
        ));
    }
    all
}

fn btrfs() -> Vec<Variant> {
    vec![
        Variant::of(
            "nodes of 4 KiB",
            "-n 4096",
            "less is written for a small change of a tree, by default 16 KiB",
        ),
        Variant::of("nodes of 64 KiB", "-n 65536", "fewer, larger writes"),
        Variant::of(
            "metadata once",
            "-m single",
            "every change of a tree is written once, and there is no second copy of it",
        ),
    ]
}

fn xfs(unit: Bytes, page: Bytes) -> Vec<Variant> {
    let page = Bytes(page.0 / BLOCK * BLOCK);
    let width = unit.0.div_ceil(page.0);
    vec![
        Variant::of(
            "stripes of an AU",
            &format!("-d su={},sw={width}", page.0),
            "inodes and small files are aligned to pages, files of an AU or more to AUs",
        ),
        Variant::of(
            "2 allocation groups",
            "-d agcount=2",
            "directories are spread over fewer places, by default four",
        ),
        Variant::of(
            "8 allocation groups",
            "-d agcount=8",
            "directories are spread over more places",
        ),
    ]
}

fn partitions(unit: Bytes) -> Vec<Variant> {
    let half = Bytes(unit.0 / 2 / 512 * 512);
    let places = [
        (AT_ONE_AU, unit, "aligned, as the whole card is"),
        (
            "at 1 MiB",
            Bytes::mib(1),
            "start of a partition in today's tools",
        ),
        ("at half an AU", half, "half an AU off"),
        (
            "at sector 63",
            SECTOR_63,
            "start of a partition in old tools",
        ),
    ];
    let mut all: Vec<Variant> = Vec::new();
    for (name, start, purpose) in places {
        if all.iter().all(|v| v.partition != Some(start)) {
            all.push(Variant {
                partition: Some(start),
                ..Variant::of(name, "", purpose)
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Settings;
    use std::collections::BTreeSet;

    fn options(fs: FileSystem, unit: Bytes) -> Vec<(String, String)> {
        variants(fs, unit, Bytes::kib(16))
            .into_iter()
            .filter(|v| v.partition.is_none())
            .map(|v| (v.name, v.mkfs))
            .collect()
    }

    fn has(fs: FileSystem, unit: Bytes, name: &str) -> Option<String> {
        let mut all = options(fs, unit).into_iter();
        all.find(|(n, _)| n == name).map(|(_, options)| options)
    }

    #[test]
    fn sizes_follow_from_unit_and_page() {
        let eight = Bytes::mib(8);
        let say = |fs, name: &str| has(fs, eight, name).unwrap();
        let ext4 = say(FileSystem::Ext4, "stripes of an AU");
        assert_eq!(ext4, "-E stride=4,stripe_width=2048");
        assert_eq!(say(FileSystem::F2fs, "sections of an AU"), "-s 4");
        assert_eq!(say(FileSystem::F2fs, "sections of two AUs"), "-s 8");
        assert_eq!(say(FileSystem::Nilfs2, "segments of two AUs"), "-B 4096");
        let exfat = say(FileSystem::Exfat, "data from an AU on");
        assert_eq!(exfat, "-b 8192K");
        let xfs = say(FileSystem::Xfs, "stripes of an AU");
        assert_eq!(xfs, "-d su=16384,sw=512");
        // NILFS2's own segment is an AU then, and not tried twice.
        assert_eq!(has(FileSystem::Nilfs2, eight, "segments of an AU"), None);
        let four = has(FileSystem::Nilfs2, Bytes::mib(4), "segments of an AU");
        assert_eq!(four.as_deref(), Some("-B 1024"));
    }

    #[test]
    fn a_unit_that_is_no_power_of_two_gets_sections_of_whole_units_and_what_the_other_tools_take() {
        let three = Bytes::mib(3);
        let two_aus = has(FileSystem::F2fs, three, "sections of two AUs");
        assert_eq!(two_aus.as_deref(), Some("-s 3"));
        for (fs, mark) in [(FileSystem::Nilfs2, "-B "), (FileSystem::Exfat, "-b ")] {
            for (name, text) in options(fs, three) {
                let Some((_, value)) = text.split_once(mark) else {
                    continue;
                };
                let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
                let value: u64 = digits.parse().unwrap();
                assert!(value.is_power_of_two(), "{name}: {text}");
                assert!(!name.contains("an AU"), "{name} does not have an AU");
            }
        }
    }

    #[test]
    fn every_variant_stands_once_the_default_first_and_none_is_the_default_again() {
        let kib = [4, 512, 1024, 2048, 3072, 4096, 8192, 131_072, 1 << 20];
        for fs in FileSystem::ALL {
            for unit in kib.map(Bytes::kib) {
                let all = variants(fs, unit, Bytes::kib(16));
                assert!(all[0].is_default() && all[0].options() == "-");
                let slugs: BTreeSet<_> = all.iter().map(Variant::slug).collect();
                let options: BTreeSet<_> = all.iter().map(Variant::options).collect();
                assert_eq!((slugs.len(), options.len()), (all.len(), all.len()));
                for variant in &all[1..] {
                    assert!(!variant.is_default(), "{} {unit}", variant.name);
                    assert_ne!(variant.options(), "-s 1");
                    assert_ne!(variant.options(), "-B 2048");
                    let start = variant.partition.map_or(512, |b| b.0);
                    assert!(start > 0 && start.is_multiple_of(512), "{start}");
                }
            }
        }
    }

    #[test]
    fn places_are_as_their_names_say() {
        let all = variants(FileSystem::Ext4, Bytes::mib(8), Bytes::kib(64));
        let starts: Vec<_> = all.iter().filter_map(|v| v.partition).collect();
        let expected = [Bytes::mib(8), Bytes::mib(1), Bytes::mib(4), Bytes(63 * 512)];
        assert_eq!(starts, expected);
        // Half of 2 MiB is 1 MiB, which exists already.
        let all = variants(FileSystem::Ext4, Bytes::mib(2), Bytes::kib(64));
        assert_eq!(all.iter().filter(|v| v.partition.is_some()).count(), 3);
    }

    #[test]
    fn the_users_options_stay_and_stand_behind() {
        let user = Settings {
            mkfs_options: "-L card".to_string(),
            partition_start: Some(Bytes::mib(2)),
            ..Settings::default()
        };
        let all = variants(FileSystem::F2fs, Bytes::mib(8), Bytes::kib(64));
        let applied = |name: &str| {
            let variant = all.iter().find(|v| v.name == name).unwrap();
            user.with_variant(variant)
        };
        assert_eq!(applied(DEFAULT).mkfs_options, "-L card");
        let sections = applied("sections of an AU");
        assert_eq!(sections.mkfs_options, "-s 4 -L card");
        assert_eq!(sections.partition_start, Some(Bytes::mib(2)));
        assert_eq!(sections.variant.unwrap().slug(), "sections-of-an-au");
        let off = applied("at sector 63");
        assert_eq!(off.partition_start, Some(SECTOR_63));
    }
}
