//! The files of `verify_dump`, named as fio names them: the target, the offset, `received` or `expected`.

use nandscope_measure::steps::Attachment;
use nandscope_measure::verify::Dump;

/// Adds the files of a group to those of the groups before it; of an offset the first are kept. `target` is its name
/// on the command line.
pub fn add(files: &mut Vec<Attachment>, target: &str, dumps: Vec<Dump>) {
    let target = file_name(target);
    for dump in dumps {
        let name = |kind| format!("{target}.{}.{kind}", dump.offset);
        let received = name("received");
        if files.iter().any(|file| file.name == received) {
            continue;
        }
        if let Some(bytes) = dump.expected {
            let name = name("expected");
            files.push(Attachment { name, bytes });
        }
        files.push(Attachment {
            name: received,
            bytes: dump.received,
        });
    }
}

/// The last part of a path, or the name of a simulated device.
fn file_name(target: &str) -> &str {
    let path = target.strip_prefix("sim:").unwrap_or(target);
    let last = path.rsplit(['/', ':']).find(|part| !part.is_empty());
    last.unwrap_or("target")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_names_of_fio() {
        let mut files = Vec::new();
        let dump = Dump {
            offset: 4096,
            received: vec![1],
            expected: Some(vec![2]),
        };
        let earlier = Dump {
            received: vec![3],
            expected: None,
            ..dump.clone()
        };
        add(&mut files, "/dev/sdb", vec![dump, earlier.clone()]);
        add(&mut files, "sim:./cards/my.toml", vec![earlier]);
        let files: Vec<_> = files.iter().map(|f| (&f.name[..], f.bytes[0])).collect();
        let expected = [
            ("sdb.4096.expected", 2),
            ("sdb.4096.received", 1),
            ("my.toml.4096.received", 3),
        ];
        assert_eq!(files, expected);
        assert_eq!(file_name("sim:kingston-8gb"), "kingston-8gb");
        assert_eq!(file_name("sim:saved:used.dev"), "used.dev");
    }
}
