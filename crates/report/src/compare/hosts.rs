//! Hosts on which results are compared: rates of two devices are comparable only if both were attached to the same
//! host.

use crate::error::{ReportError, Result};
use crate::view::modes;
use nandscope_result::{Figure, ResultDocument};

/// A host that a document does not name.
const REAL: &str = "a real machine";

/// Mode of each document that is compared with the modes of the others.
#[derive(Clone, Debug)]
pub struct Alignment {
    shared: Vec<SharedHost>,
    /// The documents share no host: the first of each is compared.
    across: bool,
    /// Host of each document in the first of `shared`, by its label.
    labels: Vec<Option<String>>,
    /// Hosts that are not compared, with the number of their document.
    left_out: Vec<(usize, String)>,
}

/// A host of all documents.
#[derive(Clone, Debug)]
struct SharedHost {
    /// Name of the host in the first document.
    label: Option<String>,
    /// The mode in which each document was measured on it.
    modes: Vec<Option<String>>,
}

/// A host of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Host {
    /// The mode of the document's steps.
    mode: Option<String>,
    /// Name for readers; `None` if the document has no name for it.
    label: Option<String>,
    /// Title of a simulated host, or processor of a real one; empty if unknown.
    title: String,
    simulated: bool,
    /// Card reader of a real machine: its USB device, or its slot; `None` if the device needs none, or it is unknown.
    reader: Option<String>,
}

impl Host {
    /// Results of version 0.1 have no title: there the names of the modes decide.
    fn is(&self, other: &Host) -> bool {
        let titled = !self.title.is_empty() && !other.title.is_empty();
        let readers_differ = matches!((&self.reader, &other.reader), (Some(a), Some(b)) if a != b);
        self.simulated == other.simulated
            && !readers_differ
            && match titled {
                true => self.title == other.title,
                false => self.label == other.label || !self.simulated,
            }
    }
}

/// The hosts of a document: of the modes that ran, then of figures whose steps are missing, as in a result that was
/// recovered.
fn hosts(document: &ResultDocument) -> Vec<Host> {
    let target = &document.target;
    let mut found = modes::modes(document);
    for figure in document.all_figures() {
        if figure.mode.is_some() && !found.contains(&figure.mode) {
            found.push(figure.mode.clone());
        }
    }
    if found.is_empty() {
        found.push(None);
    }
    let host = |mode: Option<String>| {
        let info = match &mode {
            Some(name) => target.modes.iter().find(|m| m.name == *name),
            // A run has one host, which its steps do not name.
            None => target.modes.first().filter(|_| target.modes.len() == 1),
        };
        let simulated = target.is_simulated();
        let title = match info {
            Some(info) => info.host.clone(),
            None if simulated => String::new(),
            None => document
                .environment
                .get("processor")
                .cloned()
                .unwrap_or_default(),
        };
        let named = mode.clone().or(info.map(|i| i.name.clone()));
        let reader = reader(document).filter(|_| !simulated);
        let machine = || match (title.is_empty(), &reader) {
            (true, None) => None,
            (true, Some(reader)) => Some(format!("{REAL}, {reader}")),
            (false, None) => Some(title.clone()),
            (false, Some(reader)) => Some(format!("{title}, {reader}")),
        };
        Host {
            label: named.or_else(machine),
            mode,
            title,
            simulated,
            reader,
        }
    };
    found.into_iter().map(host).collect()
}

/// SD slot or USB reader of a real device, if the result names it. Two readers of one machine count as two hosts.
fn reader(document: &ResultDocument) -> Option<String> {
    let stated = |name: &str| document.environment.get(name);
    match stated("transport")?.as_str() {
        "SD" => Some("SD slot".to_string()),
        "USB" => Some(match stated("USB device") {
            Some(device) => format!("USB {device}"),
            None => "USB".to_string(),
        }),
        _ => None,
    }
}

impl Alignment {
    /// The hosts that all documents share. With `across`, documents that share none are compared nevertheless, each on
    /// its first host.
    ///
    /// # Errors
    /// `ReportError::NoSharedHost` if the documents share no host and must.
    pub fn of(documents: &[&ResultDocument], across: bool) -> Result<Alignment> {
        let all: Vec<Vec<Host>> = documents.iter().map(|d| hosts(d)).collect();
        match Alignment::shared(&all) {
            None if !across => Err(ReportError::NoSharedHost(in_words(&all))),
            shared => Ok(shared.unwrap_or_else(|| Alignment::across(&all))),
        }
    }

    /// The hosts that all documents share, or else the first of each.
    pub(crate) fn or_across(documents: &[&ResultDocument]) -> Alignment {
        let all: Vec<Vec<Host>> = documents.iter().map(|d| hosts(d)).collect();
        Alignment::shared(&all).unwrap_or_else(|| Alignment::across(&all))
    }

    /// Alignment on the shared hosts; `None` if the documents share none.
    fn shared(all: &[Vec<Host>]) -> Option<Alignment> {
        let on_all = |host: &Host| {
            let own = |of_one: &Vec<Host>| {
                let found = of_one.iter().find(|h| h.is(host));
                found.map(|h| h.mode.clone())
            };
            let modes: Option<Vec<_>> = all.iter().map(own).collect();
            let label = host.label.clone();
            modes.map(|modes| SharedHost { label, modes })
        };
        let first = all.first().into_iter().flatten();
        let shared: Vec<SharedHost> = first.filter_map(on_all).collect();
        (!shared.is_empty()).then(|| Alignment::over(shared, all, false))
    }

    fn across(all: &[Vec<Host>]) -> Alignment {
        let first = |of_one: &Vec<Host>| of_one.first().and_then(|h| h.mode.clone());
        let each = SharedHost {
            label: None,
            modes: all.iter().map(first).collect(),
        };
        Alignment::over(vec![each], all, true)
    }

    fn over(shared: Vec<SharedHost>, all: &[Vec<Host>], across: bool) -> Alignment {
        let is_compared =
            |i: usize, host: &Host| shared.iter().any(|s| s.modes.get(i) == Some(&host.mode));
        let mut left_out = Vec::new();
        for (i, of_one) in all.iter().enumerate() {
            let others = of_one.iter().filter(|host| !is_compared(i, host));
            left_out.extend(others.filter_map(|host| Some((i, host.label.clone()?))));
        }
        let first = |(i, of_one): (usize, &Vec<Host>)| {
            let mode = shared.first()?.modes.get(i)?;
            let host = of_one.iter().find(|h| h.mode == *mode)?;
            let real = || (!host.simulated).then(|| REAL.to_string());
            host.label.clone().or_else(real)
        };
        Alignment {
            labels: all.iter().enumerate().map(first).collect(),
            across,
            left_out,
            shared,
        }
    }

    /// Host in the name of each document; `None` if all share theirs.
    pub fn named(&self) -> Vec<Option<String>> {
        match self.across {
            true => self.labels.clone(),
            false => vec![None; self.labels.len()],
        }
    }

    /// Whether the documents share no host.
    pub fn is_across(&self) -> bool {
        self.across
    }

    /// Names of the shared hosts; none if they are not known, or not shared.
    pub fn names(&self) -> Vec<&str> {
        let shared = self.shared.iter().filter(|_| !self.across);
        shared.filter_map(|host| host.label.as_deref()).collect()
    }

    /// ` on SabreLite`, for headings; empty if the documents share several hosts, none, or one that is not known.
    pub(super) fn heading(&self) -> String {
        match self.names().as_slice() {
            [one] => format!(" on {one}"),
            _ => String::new(),
        }
    }

    /// Sentences on the hosts: which are compared, and which are not.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.across {
            let hosts = self.labels.iter().enumerate().map(|(i, label)| {
                let label = label.as_deref().unwrap_or("an unknown host");
                format!("{} on {label}", super::letter(i))
            });
            let hosts: Vec<String> = hosts.collect();
            sentences.push(format!("Hosts differ: {}.", hosts.join("; ")));
        }
        match self.names().as_slice() {
            [] => {}
            [one] => sentences.push(format!("Host: {one}.")),
            several => sentences.push(format!("Hosts: {}.", several.join("; "))),
        }
        if !self.left_out.is_empty() {
            let others = self.left_out.iter();
            let others = others.map(|(i, label)| format!("{label} ({})", super::letter(*i)));
            let why = if self.across {
                ""
            } else {
                ", as not all results have them"
            };
            sentences.push(format!(
                "Not compared{why}: {}.",
                others.collect::<Vec<_>>().join("; ")
            ));
        }
        sentences
    }

    /// Number of the shared host on which document `i` ran steps of this mode, the first for steps without a mode;
    /// `None` if these are not compared.
    pub(super) fn place(&self, i: usize, mode: Option<&str>) -> Option<usize> {
        let is_on = |host: &SharedHost| host.modes.get(i).is_some_and(|m| m.as_deref() == mode);
        let found = self.shared.iter().position(is_on);
        found.or(mode.is_none().then_some(0))
    }

    /// The mode of document `i` that is compared first.
    pub(crate) fn first_of(&self, i: usize) -> Option<&str> {
        self.shared.first()?.modes.get(i)?.as_deref()
    }

    /// Host under which a figure of document `i` is compared: empty for the first; `None` if the figure is not
    /// compared.
    pub(super) fn of_figure(&self, i: usize, figure: &Figure) -> Option<String> {
        if figure.mode.is_none() {
            return Some(String::new());
        }
        let place = self
            .shared
            .iter()
            .position(|s| s.modes.get(i) == Some(&figure.mode))?;
        Some(match place {
            0 => String::new(),
            place => place.to_string(),
        })
    }

    /// Host of a figure of document `i`, if the documents share several, so that titles must name it.
    pub(super) fn label_of(&self, i: usize, figure: &Figure) -> Option<&str> {
        let mut shared = self.shared.iter();
        let host = shared.find(|s| s.modes.get(i) == Some(&figure.mode))?;
        host.label
            .as_deref()
            .filter(|_| self.shared.len() > 1 && figure.mode.is_some())
    }

    /// Whether the documents share several hosts, so that titles must name them.
    pub(super) fn several(&self) -> bool {
        self.shared.len() > 1
    }
}

/// The hosts of each document: `A on SabreLite, Raspberry Pi; B on Odroid XU3`.
fn in_words(all: &[Vec<Host>]) -> String {
    let of_one = |(i, hosts): (usize, &Vec<Host>)| {
        let labels: Vec<&str> = hosts.iter().filter_map(|h| h.label.as_deref()).collect();
        let labels = match (
            labels.is_empty(),
            hosts.first().is_some_and(|h| h.simulated),
        ) {
            (false, _) => labels.join(", "),
            (true, true) => "an unknown host".to_string(),
            (true, false) => REAL.to_string(),
        };
        format!("{} on {labels}", super::letter(i))
    };
    let parts: Vec<String> = all.iter().enumerate().map(of_one).collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{ModeInfo, StepResult, TargetKind};

    /// A result on these hosts: name of the mode, title of the host.
    fn on(hosts: &[(&str, &str)]) -> ResultDocument {
        let mut document = crate::blank::document();
        for (name, title) in hosts {
            document.target.modes.push(ModeInfo {
                name: (*name).into(),
                host: (*title).into(),
                path: Vec::new(),
            });
            document.steps.push(StepResult {
                mode: Some((*name).into()),
                ..StepResult::default()
            });
        }
        document
    }

    #[test]
    fn results_are_compared_on_the_host_that_all_have() {
        let a = on(&[("SabreLite", "SabreLite board"), ("Pi", "Raspberry Pi")]);
        let b = on(&[("Odroid", "Odroid XU3"), ("board", "SabreLite board")]);
        let alignment = Alignment::of(&[&a, &b], false).unwrap();
        assert_eq!(
            (alignment.first_of(0), alignment.first_of(1)),
            (Some("SabreLite"), Some("board"))
        );
        assert_eq!(
            alignment.sentences(),
            [
                "Host: SabreLite.",
                "Not compared, as not all results have them: Pi (A); Odroid (B)."
            ]
        );
        assert_eq!(alignment.named(), [None, None]);
    }

    #[test]
    fn results_without_a_common_host_are_refused() {
        let (a, b) = (
            on(&[("NVMe", "Desktop, PCIe 3.0")]),
            on(&[("NVMe", "Desktop, PCIe 4.0")]),
        );
        let error = Alignment::of(&[&a, &b], false).unwrap_err().to_string();
        assert!(
            error.contains("A on NVMe; B on NVMe") && error.contains("--host"),
            "{error}"
        );
        let across = Alignment::of(&[&a, &b], true).unwrap();
        assert_eq!(across.sentences(), ["Hosts differ: A on NVMe; B on NVMe."]);
        // Results of version 0.1 have names only.
        let old = on(&[("NVMe", "")]);
        assert!(Alignment::of(&[&a, &old], false).is_ok());
    }

    #[test]
    fn two_readers_of_one_machine_are_two_hosts() {
        let on = |conditions: &[(&str, &str)]| {
            let mut document = crate::blank::document();
            document.target.kind = TargetKind::BlockDevice;
            document.steps.push(StepResult::default());
            let machine = [("processor", "EPYC")];
            for (name, value) in machine.iter().chain(conditions) {
                document.environment.insert((*name).into(), (*value).into());
            }
            document
        };
        let slot = on(&[("transport", "SD")]);
        let reader = on(&[
            ("transport", "USB"),
            ("USB device", "05e3:0749 Card Reader"),
        ]);
        let other = on(&[("transport", "USB"), ("USB device", "0bda:0316 USB3.0-CRW")]);
        let unknown = on(&[]);
        for (a, b) in [(&slot, &reader), (&reader, &other)] {
            let error = Alignment::of(&[a, b], false).unwrap_err().to_string();
            assert!(
                error.contains("A on EPYC, ") && error.contains("B on EPYC, USB 0"),
                "{error}"
            );
        }
        for same in [&slot, &reader, &unknown] {
            assert!(Alignment::of(&[&reader, same], false).is_ok() != std::ptr::eq(same, &slot));
        }
    }

    #[test]
    fn a_simulated_host_is_none_of_this_world() {
        let mut real = crate::blank::document();
        real.target.kind = TargetKind::BlockDevice;
        real.steps.push(StepResult::default());
        let simulated = on(&[("SabreLite", "SabreLite board")]);
        assert!(Alignment::of(&[&real, &simulated], false).is_err());
        assert!(Alignment::of(&[&real, &real], false).is_ok());
        let mut other = real.clone();
        for (document, processor) in [(&mut real, "EPYC"), (&mut other, "i.MX6")] {
            document
                .environment
                .insert("processor".into(), processor.into());
        }
        assert!(Alignment::of(&[&real, &other], false).is_err());
        assert_eq!(
            Alignment::of(&[&real, &real], false).unwrap().sentences(),
            ["Host: EPYC."]
        );
    }
}
