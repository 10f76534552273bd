//! Compares layouts with the output of the file systems' own programs: xfs_db for every block, `btrfs
//! inspect-internal` for every chunk, dump.f2fs for every segment. The images come from mkfs with files in them,
//! and from runs of the kernel if there is one (`nandscope kernel build`).

#![cfg(target_os = "linux")]
use nandscope_blockio::image::Image;
use nandscope_device::Device;
use nandscope_device::profile::library;
use nandscope_uml::build;
use nandscope_uml::filesystem::FileSystem;
use nandscope_uml::job::{self, Settings};
use nandscope_uml::layout::{Kind, Layout};
use nandscope_uml::workload::{self, Workload};
use nandscope_units::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

const PIECE: usize = 4096;

/// A folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("nandscope-layout-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// An image of so many zeroes.
    fn image(&self, size: Bytes) -> PathBuf {
        let path = self.0.join("image");
        fs::File::create(&path).unwrap().set_len(size.0).unwrap();
        path
    }

    fn run(&self, command: &[&str]) -> String {
        let output = Command::new(command[0])
            .args(&command[1..])
            .current_dir(&self.0)
            .output();
        let output = output.unwrap_or_else(|e| panic!("{}: {e}", command[0]));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn skipped(why: &str) {
    // To the standard error itself: what tests print is shown only where they fail.
    let _ = writeln!(std::io::stderr(), "SKIPPED: layouts: {why}");
}

fn has(tools: &[&str]) -> bool {
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    for tool in tools {
        if !folders
            .iter()
            .any(|folder| Path::new(folder).join(tool).exists())
        {
            skipped(&format!("there is no {tool} (scripts/install-tools.sh)"));
            return false;
        }
    }
    true
}

fn contents_of(image: &Path) -> Image {
    let mut file = fs::File::open(image).unwrap();
    let size = file.metadata().unwrap().len();
    let mut contents = Image::bounded(size);
    let mut part = vec![0; 1 << 20];
    for from in (0..size).step_by(part.len()) {
        file.read_exact(&mut part).unwrap();
        for (at, piece) in (from..).step_by(PIECE).zip(part.chunks(PIECE)) {
            if piece.iter().any(|b| *b != 0) {
                contents.write(at, piece).unwrap();
            }
        }
    }
    contents
}

/// Compares the expected kinds of many places with the layout, and returns the number of each kind.
fn hold(
    layout: &Layout,
    start: u64,
    expected: impl IntoIterator<Item = (u64, Kind)>,
) -> BTreeMap<Kind, u64> {
    let mut met = BTreeMap::new();
    for (at, kind) in expected {
        assert_eq!(layout.kind(start + at).name(), kind.name(), "at {at}");
        *met.entry(kind).or_default() += 1;
    }
    met
}

fn named_by_xfs(name: &str) -> Kind {
    match name {
        "sb" => Kind::Super,
        "log" => Kind::Journal,
        "inode" => Kind::Inode,
        "dir" => Kind::Directory,
        "free1" | "free2" | "data" => Kind::Data,
        "agf" | "agi" | "agfl" | "freelist" | "btbno" | "btcnt" | "btino" | "btfino"
        | "btrefcnt" => Kind::Bitmap,
        other => panic!("xfs_db names {other}"),
    }
}

/// Every block, as xfs_db finds it from the inodes and trees.
fn hold_xfs(folder: &Folder, layout: &Layout, start: u64) -> BTreeMap<Kind, u64> {
    let text = folder.run(&[
        "xfs_db",
        "-r",
        "-c",
        "sb 0",
        "-c",
        "p blocksize agblocks",
        "image",
    ]);
    let numbers: Vec<u64> = text
        .lines()
        .map(|l| l.split(" = ").nth(1).unwrap().parse().unwrap())
        .collect();
    let (block, group_blocks) = (numbers[0], numbers[1]);
    let image = fs::read(folder.0.join("image")).unwrap();
    let mut expected = BTreeMap::new();
    for line in folder
        .run(&["xfs_db", "-r", "-c", "blockget -n -v", "image"])
        .lines()
    {
        let Some((place, kind)) = line
            .strip_prefix("setting block ")
            .and_then(|l| l.split_once(" to "))
        else {
            continue;
        };
        let (group, within) = place.split_once('/').unwrap();
        let (group, within): (u64, u64) = (group.parse().unwrap(), within.parse().unwrap());
        let at = (group * group_blocks + within) * block;
        // xfs_db counts the nodes of a tree of extents to what the tree belongs to.
        let node = matches!(kind, "data" | "dir") && image[at as usize..].starts_with(b"BMA3");
        expected.insert(
            at,
            if node {
                Kind::Inode
            } else {
                named_by_xfs(kind)
            },
        );
    }
    let headers = (0..4).flat_map(|group| {
        let at = group * group_blocks * block;
        [1, 2, 3].map(|sector| (at + sector * 512, Kind::Bitmap))
    });
    hold(layout, start, headers);
    hold(layout, start, expected)
}

/// Both ends of every stripe of every chunk, and the superblocks.
fn hold_btrfs(folder: &Folder, layout: &Layout, start: u64) -> BTreeMap<Kind, u64> {
    let text = folder.run(&[
        "btrfs",
        "inspect-internal",
        "dump-tree",
        "-t",
        "chunk",
        "image",
    ]);
    let mut expected = BTreeMap::new();
    let (mut length, mut kind) = (0u64, Kind::Data);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["length", bytes, .., flags] => {
                length = bytes.parse().unwrap();
                let tree = flags.starts_with("SYSTEM") || flags.starts_with("METADATA");
                kind = if tree { Kind::Tree } else { Kind::Data };
            }
            ["stripe", _, "devid", _, "offset", at] => {
                let at: u64 = at.parse().unwrap();
                expected.extend([(at, kind), (at + length - 1, kind)]);
            }
            _ => {}
        }
    }
    let size = fs::metadata(folder.0.join("image")).unwrap().len();
    let supers = [64 << 10, 64 << 20].into_iter().filter(|at| *at < size);
    expected.extend(supers.flat_map(|at| [(at, Kind::Super), (at + 4095, Kind::Super)]));
    hold(layout, start, expected)
}

/// Every segment, by its type.
fn hold_f2fs(folder: &Folder, layout: &Layout, start: u64) -> BTreeMap<Kind, u64> {
    let mut head = [0; 4];
    let mut image = fs::File::open(folder.0.join("image")).unwrap();
    image.seek(SeekFrom::Start(1024 + 92)).unwrap();
    image.read_exact(&mut head).unwrap();
    let main = u64::from(u32::from_le_bytes(head)) * 4096;
    folder.run(&["dump.f2fs", "-s", "0~-1", "image"]);
    let dump = fs::read_to_string(folder.0.join("dump_sit")).unwrap();
    let segments = dump.lines().filter_map(|line| {
        let number = |name: &str| -> Option<u64> {
            let rest = line.split_once(name)?.1.trim_start();
            rest.split_whitespace().next()?.parse().ok()
        };
        let kind = if number("seg_type:")? >= 3 {
            Kind::Inode
        } else {
            Kind::Data
        };
        Some((main + number("segno:")? * (2 << 20), kind))
    });
    hold(layout, start, segments)
}

/// That each of these kinds was met so often at least.
fn at_least(met: &BTreeMap<Kind, u64>, least: &[(Kind, u64)]) {
    for (kind, least) in least {
        let seen = met.get(kind).copied().unwrap_or(0);
        assert!(
            seen >= *least,
            "{}: {seen} of {least}; {met:?}",
            kind.name()
        );
    }
}

/// A list of files for mkfs.xfs, all with the contents of one.
fn list_for_xfs(folder: &Folder, files: u32) {
    let file = folder.0.join("file");
    fs::write(&file, [b'x'; 3000]).unwrap();
    let mut list = "/nowhere\n0 0\nd--755 0 0\n many d--755 0 0\n".to_string();
    for i in 0..files {
        list += &format!(
            "  a-rather-long-name-of-a-file-{i} ---644 0 0 {}\n",
            file.display()
        );
    }
    list += " $\n$\n";
    fs::write(folder.0.join("list"), list).unwrap();
}

#[test]
fn xfs_as_mkfs_makes_it() {
    if !has(&["mkfs.xfs", "xfs_db"]) {
        return;
    }
    let folder = Folder::new("xfs");
    let image = folder.image(Bytes::mib(300));
    // So many inodes and names, in blocks so small, that their trees have several levels.
    list_for_xfs(&folder, 6000);
    folder.run(&[
        "mkfs.xfs",
        "-q",
        "-f",
        "-b",
        "size=1024",
        "-p",
        "list",
        "image",
    ]);
    let layout = Layout::read(FileSystem::Xfs, &contents_of(&image), 0);
    let met = hold_xfs(&folder, &layout, 0);
    at_least(
        &met,
        &[
            (Kind::Super, 4),
            (Kind::Journal, 10_000),
            (Kind::Inode, 3000),
            (Kind::Directory, 300),
            (Kind::Bitmap, 40),
            (Kind::Data, 100_000),
        ],
    );
}

#[test]
fn btrfs_as_mkfs_makes_it() {
    if !has(&["mkfs.btrfs", "btrfs"]) {
        return;
    }
    let folder = Folder::new("btrfs");
    // The second superblock is inside a chunk of metadata.
    let image = folder.image(Bytes::gib(1));
    folder.run(&["mkfs.btrfs", "-q", "-f", "image"]);
    let contents = contents_of(&image);
    let layout = Layout::read(FileSystem::Btrfs, &contents, 0);
    let met = hold_btrfs(&folder, &layout, 0);
    at_least(&met, &[(Kind::Super, 4), (Kind::Tree, 8), (Kind::Data, 2)]);
    // Around the second superblock the chunk continues.
    let around = [(64 << 20) - 1, (64 << 20) + 4096];
    hold(&layout, 0, around.map(|at| (at, Kind::Tree)));
    // Without the first superblock, the second gives the same layout.
    let mut damaged = contents.clone();
    damaged.discard(64 << 10, 4096).unwrap();
    assert_eq!(Layout::read(FileSystem::Btrfs, &damaged, 0), layout);
}

#[test]
fn f2fs_as_mkfs_makes_it() {
    if !has(&["mkfs.f2fs", "sload.f2fs", "dump.f2fs"]) {
        return;
    }
    let folder = Folder::new("f2fs");
    let image = folder.image(Bytes::mib(300));
    let files = folder.0.join("files");
    fs::create_dir(&files).unwrap();
    for i in 0..800 {
        fs::write(files.join(format!("file-{i}")), vec![b'x'; 5000]).unwrap();
    }
    folder.run(&["mkfs.f2fs", "-q", "-f", "image"]);
    folder.run(&["sload.f2fs", "-f", "files", "image"]);
    let layout = Layout::read(FileSystem::F2fs, &contents_of(&image), 0);
    let met = hold_f2fs(&folder, &layout, 0);
    at_least(&met, &[(Kind::Inode, 4), (Kind::Data, 100)]);
}

/// Runs a workload with the real kernel on a partition. Returns the layout that is read from the device, and writes
/// the partition to the image of `folder`; `None` without a kernel.
fn left_behind(folder: &Folder, fs: FileSystem, mkfs: &str, workload: &Workload) -> Option<Layout> {
    let Some(kernel) = build::cache().ok().and_then(|cache| build::find(&cache)) else {
        skipped("there is no kernel (`nandscope kernel build`)");
        return None;
    };
    let profile = library::device("samsung-evo-16gb")
        .unwrap()
        .profile()
        .unwrap();
    let host = library::host("sabrelite").unwrap().host_profile().unwrap();
    let mut device = Device::new(&profile, &host, 1).unwrap();
    let settings = Settings {
        mkfs_options: mkfs.to_string(),
        partition_start: Some(START),
        partition_size: Some(SIZE),
        ..Settings::default()
    };
    let mut contents = Image::bounded(device.capacity().0);
    job::run(
        &kernel.path,
        fs,
        workload,
        &settings,
        &mut device,
        &mut contents,
        &|| false,
    )
    .unwrap();
    let image = folder.image(SIZE);
    let mut file = fs::OpenOptions::new().write(true).open(image).unwrap();
    let mut piece = vec![0; PIECE];
    for at in (0..SIZE.0).step_by(PIECE) {
        contents.read(START.0 + at, &mut piece).unwrap();
        if piece.iter().any(|b| *b != 0) {
            file.seek(SeekFrom::Start(at)).unwrap();
            file.write_all(&piece).unwrap();
        }
    }
    Some(Layout::read(fs, &contents, START.0))
}

const START: Bytes = Bytes::mib(4);
const SIZE: Bytes = Bytes::mib(320);

/// Fills everything with one file and gives back every eighth block of some of it: what comes after has to
/// take single blocks, so that a directory and the file get trees of extents, and chunks of inodes have holes.
const SPLIT: &str = r#"
work() {
    try perl -e '
        use strict; use warnings; use Fcntl;
        my $folder = $ARGV[0];
        sysopen(my $all, "$folder/all", O_RDWR | O_CREAT) or die "$!";
        my $end = 0;
        for my $step (1 << 20, 16 << 10, 1 << 10) {
            $end += $step while syscall(285, fileno($all), 0, $end, $step) == 0;
        }
        for my $n (0 .. 9999) {
            syscall(285, fileno($all), 3, $n * 8192, 1024) == 0 or die "$!";
        }
        for my $n (0 .. 99) {
            syscall(285, fileno($all), 3, (100 << 20) + $n * 65536, 24576) == 0 or die "$!";
        }
        mkdir("$folder/names") or die "$!";
        for my $n (0 .. 1999) {
            link("$folder/all", "$folder/names/" . "n" x 200 . $n) or die "$!";
        }
        for my $n (0 .. 499) {
            open(my $f, ">", "$folder/file$n") or die "$!";
            print $f "x" x 500;
            close($f) or die "$!";
        }' "$MNT"
}
"#;

#[test]
#[ignore = "slow: thousands of files"]
fn slow_xfs_as_a_run_leaves_it() {
    if !has(&["mkfs.xfs", "xfs_db"]) {
        return;
    }
    let folder = Folder::new("xfs-run");
    let work = workload::own("split", SPLIT);
    let Some(layout) = left_behind(&folder, FileSystem::Xfs, "-b size=1024", &work) else {
        return;
    };
    let met = hold_xfs(&folder, &layout, START.0);
    at_least(
        &met,
        &[
            (Kind::Inode, 400),
            (Kind::Directory, 400),
            (Kind::Bitmap, 40),
        ],
    );
}

#[test]
#[ignore = "slow: thousands of files"]
fn slow_btrfs_as_a_run_leaves_it() {
    if !has(&["mkfs.btrfs", "btrfs"]) {
        return;
    }
    let folder = Folder::new("btrfs-run");
    let work = workload::named("postmark").unwrap();
    let Some(layout) = left_behind(&folder, FileSystem::Btrfs, "", &work) else {
        return;
    };
    let met = hold_btrfs(&folder, &layout, START.0);
    at_least(&met, &[(Kind::Super, 4), (Kind::Tree, 8), (Kind::Data, 2)]);
}

#[test]
#[ignore = "slow: thousands of files"]
fn slow_f2fs_as_a_run_leaves_it() {
    if !has(&["mkfs.f2fs", "dump.f2fs"]) {
        return;
    }
    let folder = Folder::new("f2fs-run");
    let work = workload::named("postmark").unwrap();
    let Some(layout) = left_behind(&folder, FileSystem::F2fs, "", &work) else {
        return;
    };
    let met = hold_f2fs(&folder, &layout, START.0);
    at_least(&met, &[(Kind::Inode, 3), (Kind::Data, 100)]);
}

/// An image of each file system, as its program makes it.
fn images() -> Vec<(FileSystem, Image)> {
    let folder = Folder::new("damaged");
    list_for_xfs(&folder, 3000);
    let commands = [
        (FileSystem::Ext4, "mkfs.ext4 -q -F image"),
        (FileSystem::Vfat, "mkfs.vfat -F 32 image"),
        (FileSystem::Exfat, "mkfs.exfat image"),
        (FileSystem::F2fs, "mkfs.f2fs -q -f image"),
        (FileSystem::Btrfs, "mkfs.btrfs -q -f image"),
        (FileSystem::Xfs, "mkfs.xfs -q -f -b size=1024 -p list image"),
    ];
    let mut images = Vec::new();
    for (fs, command) in commands {
        let words: Vec<&str> = command.split(' ').collect();
        if has(&words[..1]) {
            let image = folder.image(SIZE);
            folder.run(&words);
            images.push((fs, contents_of(&image)));
        }
    }
    images
}

/// Addresses of the pieces that contain structures and are not all zeros.
fn structures(fs: FileSystem, contents: &Image) -> Vec<u64> {
    let layout = Layout::read(fs, contents, 0);
    let mut piece = [0; PIECE];
    (0..contents.capacity())
        .step_by(PIECE)
        .filter(|at| {
            let kinds = [Kind::Data, Kind::Journal];
            let told = (0..4).any(|part| !kinds.contains(&layout.kind(at + part * 1024)));
            told && contents.read(*at, &mut piece).is_ok() && piece.iter().any(|b| *b != 0)
        })
        .collect()
}

/// Bytes of the structures of a valid image are changed: that makes no reader panic or go on for ever.
#[test]
fn damaged_structures_make_it_neither_panic_nor_run_on() {
    for (fs, contents) in images() {
        let places = structures(fs, &contents);
        assert!(places.len() >= 3, "{}: {}", fs.name(), places.len());
        // Heads and beginnings of lists, where sizes, counts and pointers are, are hit more often.
        let within = prop_oneof![0..64usize, 0..256usize, 0..PIECE];
        let value = prop_oneof![Just(0u8), Just(0xff), any::<u8>()];
        let damage = prop::collection::vec((any::<prop::sample::Index>(), within, value), 1..20);
        let mut runner = TestRunner::new(Config {
            cases: 400,
            failure_persistence: None,
            ..Config::default()
        });
        let outcome = runner.run(&damage, |damage| {
            let mut damaged = contents.clone();
            for (place, within, value) in damage {
                let at = places[place.index(places.len())] + within as u64;
                damaged.write(at, &[value]).unwrap();
            }
            let layout = Layout::read(fs, &damaged, 0);
            layout.kind(1 << 20);
            Ok(())
        });
        outcome.unwrap_or_else(|e| panic!("{}: {e}", fs.name()));
    }
}
