//! Notices in a result about figures that would mislead.

use crate::support::{Folder, tiny};
use nandscope_result::json;

const NOTHING_READ: &str = "was never written, or was trimmed";

/// The notices of a run, which are in its output as well.
fn notices(name: &str, job: &str, more: &[&str]) -> Vec<String> {
    let folder = Folder::new(&format!("notices-{name}"));
    folder.file("job.fio", &format!("[global]\ndirect=1\nbs=4k\n{job}"));
    let device = tiny();
    let mut arguments = vec!["run", "job.fio", &device, "--result", "r.json"];
    arguments.extend(more);
    let ran = folder.run(&arguments);
    ran.succeeds();
    let document = json::read(&folder.0.join("r.json")).unwrap();
    let texts: Vec<String> = document.notices.into_iter().map(|n| n.text).collect();
    for text in &texts {
        let beginning = text
            .split_whitespace()
            .take(4)
            .collect::<Vec<_>>()
            .join(" ");
        assert!(ran.out.contains(&beginning), "{beginning}: {}", ran.out);
    }
    texts
}

/// Share in percent of the data read that needed no flash read, as the notice gives it.
fn share(notices: &[String]) -> Option<u32> {
    let text = notices.iter().find(|text| text.contains(NOTHING_READ))?;
    text.split(' ').next()?.parse().ok()
}

#[test]
fn reads_of_what_was_never_written() {
    let read = "[r]\nrw=randread\nsize=1m\n";
    assert_eq!(share(&notices("empty", read, &[])), Some(100));
    let filled = ["--precondition", "sequential"];
    assert_eq!(share(&notices("filled", read, &filled)), None);
    // A quarter of the region is written.
    let part = "[global]\nfilename=x\n[w]\nrw=write\nsize=256k\n[r]\nstonewall\nrw=read\nsize=1m\n";
    assert_eq!(share(&notices("part", part, &[])), Some(75));
    let trimmed = "[global]\nfilename=x\n[w]\nrw=write\nsize=1m\n[t]\nstonewall\nrw=trim\nsize=512k\n[r]\nstonewall\nrw=read\nsize=1m\n";
    assert_eq!(share(&notices("trimmed", trimmed, &[])), Some(50));
    // Data in the write buffer counts as written.
    let mixed =
        "[global]\nfilename=x\n[w]\nrw=write\nsize=64k\n[r]\nstonewall\nrw=read\nsize=64k\n";
    assert_eq!(share(&notices("buffered", mixed, &[])), None);
}

#[test]
fn jobs_on_the_same_part_of_the_target() {
    let overlaps = |name: &str, job: &str| {
        let texts = notices(name, job, &[]);
        texts
            .iter()
            .any(|text| text.contains("same part of the target"))
    };
    assert!(overlaps(
        "both",
        "[a]\nrw=write\nsize=1m\n[b]\nrw=read\nsize=4k\noffset=512k\n"
    ));
    assert!(!overlaps(
        "apart",
        "[a]\nrw=write\nsize=1m\n[b]\nrw=write\nsize=1m\noffset=1m\n"
    ));
    assert!(!overlaps(
        "files",
        "[a]\nrw=write\nsize=1m\n[b]\nrw=write\nsize=1m\n"
    ));
    assert!(!overlaps(
        "waiting",
        "[global]\nfilename=x\n[a]\nrw=write\nsize=1m\n[b]\nwait_for=a\nrw=read\nsize=1m\n"
    ));
    assert!(!overlaps(
        "in turn",
        "[global]\nfilename=x\n[a]\nrw=write\nsize=1m\n[b]\nstonewall\nrw=read\nsize=1m\n"
    ));
}

#[test]
fn a_job_shorter_than_an_interval() {
    let is_short = |name: &str, job: &str| {
        let texts = notices(name, job, &[]);
        texts
            .iter()
            .any(|text| text.contains("less than one interval"))
    };
    assert!(is_short("short", "[a]\nrw=write\nsize=64k\n"));
    assert!(!is_short(
        "long",
        "[a]\nrw=write\nsize=64k\ntime_based\nruntime=5\n"
    ));
}

/// Notices of an unchanged job file.
fn notices_of(name: &str, job: &str, more: &[&str]) -> Vec<nandscope_result::Notice> {
    let folder = Folder::new(&format!("notices-{name}"));
    folder.file("job.fio", job);
    let mut arguments = vec!["run", "job.fio"];
    let device = tiny();
    match more.first() {
        Some(target) if !target.starts_with("--") => arguments.extend(more),
        _ => {
            arguments.push(&device);
            arguments.extend(more);
        }
    }
    arguments.extend(["--result", "r.json"]);
    folder.run(&arguments).succeeds();
    json::read(&folder.0.join("r.json")).unwrap().notices
}

/// The level of the notice with this text.
fn level(notices: &[nandscope_result::Notice], text: &str) -> Option<String> {
    let found = notices.iter().find(|notice| notice.text.contains(text))?;
    Some(found.level.to_string())
}

#[test]
fn contents_that_nobody_keeps() {
    let job = "[w]\ndirect=1\nrw=write\nsize=64k\nbuffer_pattern=0xaa\ndedupe_percentage=50\n";
    let text = "`buffer_pattern`, `dedupe_percentage` has no effect, because without `--contents`";
    let said = |job: &str, more: &[&str]| level(&notices_of("data", job, more), text);
    assert_eq!(said(job, &[]).as_deref(), Some("info"));
    assert_eq!(said(job, &["--contents"]), None);
    assert_eq!(said(&job.replace("rw=write", "rw=read"), &[]), None);
}

#[test]
fn a_job_without_direct() {
    let text = "has no `direct=`: fio would go through the page cache";
    let said = |job: &str| level(&notices_of("no-direct", job, &[]), text);
    assert_eq!(said("[a]\nsize=64k\n").as_deref(), Some("info"));
    assert_eq!(said("[a]\nsize=64k\ndirect=1\n"), None);
}

#[cfg(target_os = "linux")]
mod real {
    use super::*;
    use crate::support::loops::Loop;
    use std::process::Command;

    #[test]
    fn buffered_jobs_are_run_past_the_page_cache() {
        let text = "has `direct=0`: fio would go through the page cache, here it is bypassed";
        let target = ["./t.img", "--size", "1m"];
        for option in ["direct=0", "buffered=1"] {
            let job = format!("[a]\nrw=read\n{option}\n");
            let notices = notices_of("real-direct-0", &job, &target);
            assert_eq!(
                level(&notices, text).as_deref(),
                Some("warning"),
                "{option}"
            );
        }
    }

    #[test]
    fn reads_of_what_jobs_trimmed() {
        let text = "25 % of the region of job `r` was never written, or was trimmed";
        let trimmed = "[global]\ndirect=1\nbs=64k\nfilename=x\n[t]\nrw=trim\nsize=1m\n[r]\nstonewall\nrw=read\nsize=4m\n";
        let target = ["./t.img", "--size", "4m"];
        let said = |job: &str| level(&notices_of("real-trimmed", job, &target), text);
        assert_eq!(said(trimmed).as_deref(), Some("warning"));
        let written = trimmed.replace("[r]", "[w]\nstonewall\nrw=write\nsize=1m\n[r]");
        assert_eq!(said(&written), None);
    }

    #[test]
    fn reads_of_holes_of_a_file() {
        let folder = Folder::new("notices-real-holes");
        let file = std::fs::File::create(folder.0.join("holes.img")).unwrap();
        file.set_len(4 << 20).unwrap();
        let path = folder.0.join("holes.img").display().to_string();
        let job = "[r]\ndirect=1\nrw=read\nsize=4m\n";
        let notices = notices_of("real-holes-run", job, &[path.as_str()]);
        let text = "100 % of the region of job `r` was never written";
        assert_eq!(level(&notices, text).as_deref(), Some("warning"));
    }

    /// Runs the command where sysfs has the loop device at the end of a slow USB cable: in a mount namespace, whose
    /// `/sys/dev/block` is a copy.
    const AT_A_CABLE: &str = r#"set -e
copy=$(mktemp -d)
cp -a /sys/dev/block/. "$copy"
mount -t tmpfs tmpfs /sys/dev/block
cp -a "$copy/." /sys/dev/block/
rm -r "$copy"
usb=/sys/dev/block/usb/usb1/1-1
mkdir -p $usb/block/$NAME
echo 0 > $usb/bDeviceClass
echo 1.5 > $usb/speed
cp -r /sys/block/$NAME/. $usb/block/$NAME 2> /dev/null || true
ln -sfn ../.. $usb/block/$NAME/device
ln -sf /sys/block/$NAME/stat $usb/block/$NAME/stat
ln -sfn $usb/block/$NAME /sys/dev/block/$(cat /sys/block/$NAME/dev)
exec "$@"
"#;

    #[test]
    fn rates_above_that_of_the_link() {
        let folder = Folder::new("notices-link");
        let Some(device) = Loop::new(&folder, 8) else {
            return;
        };
        folder.file(
            "job.fio",
            "[r]\nioengine=libaio\ndirect=1\nbs=64k\nsize=4m\n",
        );
        let mut inside = Command::new("unshare");
        inside.args(["--mount", "sh", "-c", AT_A_CABLE, "sh"]);
        inside.arg(env!("CARGO_BIN_EXE_nandscope"));
        inside.args(["run", "job.fio", &device.device, "--result", "r.json"]);
        let done = inside
            .current_dir(&folder.0)
            .env("NAME", device.name())
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        let document = json::read(&folder.0.join("r.json")).unwrap();
        assert_eq!(document.target.link_bytes_per_s, Some(1.5e6 / 8.0));
        let text = "MB/s that the link of the device carries (read)";
        assert_eq!(level(&document.notices, text).as_deref(), Some("warning"));
        // The notice is printed on the terminal as well.
        assert!(String::from_utf8_lossy(&done.stdout).contains("are more than the"));
    }
}

/// Writes at rising depths use up the free blocks of the device. No notice is about falling depths, nor about a steady state.
#[test]
fn writes_that_fall_over_rising_depths_are_named() {
    let series = |name: &str, depths: [u32; 4], more: &[&str]| {
        let sections = depths.map(|depth| format!("[qd{depth}]\nstonewall\niodepth={depth}\n"));
        let head = "ioengine=libaio\nrw=randwrite\nnorandommap\nnumber_ios=400\n";
        let all = notices(name, &format!("{head}{}", sections.concat()), more).into_iter();
        all.filter(|text| text.contains("in rising order"))
            .collect::<Vec<_>>()
    };
    let rising = [4, 8, 16, 32];
    let [text] = &series("rising", rising, &[])[..] else {
        panic!("one notice");
    };
    assert!(text.starts_with("the writes fall from "), "{text}");
    assert!(text.contains(" at 16. The depths"), "{text}");
    let steady = ["--precondition", "steady"];
    assert_eq!(series("steady", rising, &steady), [""; 0]);
    assert_eq!(series("falling", [32, 16, 8, 4], &[]), [""; 0]);
}
