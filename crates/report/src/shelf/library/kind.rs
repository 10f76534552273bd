//! Kinds of devices: drives are ranked among those with the same kind of interface.

use crate::shelf::RankScope;
use nandscope_result::{ResultDocument, TargetKind};

/// Devices with the same kind of interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::shelf) enum Kind {
    /// SD cards up to High Speed, 25 MB/s.
    Sd,
    /// SD cards with UHS-I, up to 104 MB/s.
    Uhs1,
    /// SD cards with UHS-II.
    Uhs2,
    /// SD cards with PCIe.
    SdExpress,
    /// eMMC.
    Emmc,
    /// Drives with SATA.
    Sata,
    /// Drives with PCIe.
    Pcie,
}

/// Kinds that replace each other in a slot of the same size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::shelf) enum Family {
    /// SD cards and eMMC.
    Card,
    /// Drives with SATA or PCIe.
    Ssd,
}

/// Rates of the links of SD cards in bytes per second: High Speed, and UHS-I.
const HIGH_SPEED: f64 = 25e6;
const UHS_1: f64 = 104e6;

impl Kind {
    const ALL: [Kind; 7] = [
        Kind::Sd,
        Kind::Uhs1,
        Kind::Uhs2,
        Kind::SdExpress,
        Kind::Emmc,
        Kind::Sata,
        Kind::Pcie,
    ];

    /// As in the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Sd => "sd",
            Kind::Uhs1 => "uhs-1",
            Kind::Uhs2 => "uhs-2",
            Kind::SdExpress => "sd-express",
            Kind::Emmc => "emmc",
            Kind::Sata => "sata",
            Kind::Pcie => "pcie",
        }
    }

    /// The kind of this name; `None` for another name.
    pub(super) fn find(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.name() == name)
    }

    /// `UHS-I cards`.
    pub(in crate::shelf) fn plural(self) -> &'static str {
        match self {
            Kind::Sd => "SD cards without UHS",
            Kind::Uhs1 => "UHS-I cards",
            Kind::Uhs2 => "UHS-II cards",
            Kind::SdExpress => "SD Express cards",
            Kind::Emmc => "eMMCs",
            Kind::Sata => "SATA SSDs",
            Kind::Pcie => "PCIe SSDs",
        }
    }

    pub(super) fn family(self) -> Family {
        match self {
            Kind::Sata | Kind::Pcie => Family::Ssd,
            _ => Family::Card,
        }
    }

    /// The kind of a target: by the interfaces of a simulated device, by the transport and the rate of the link of a block
    /// device. `None` for files, folders, what is connected by USB, which can be anything, and a card without a known rate.
    pub(in crate::shelf) fn of(document: &ResultDocument) -> Option<Kind> {
        match document.target.kind {
            TargetKind::Simulated => of_links(document),
            TargetKind::BlockDevice => of_transport(document),
            _ => None,
        }
    }
}

impl Family {
    /// `SSDs`.
    pub(super) fn plural(self) -> &'static str {
        match self {
            Family::Card => "cards and eMMCs",
            Family::Ssd => "SSDs",
        }
    }

    /// The family of a target, which may be known where its kind is not.
    pub(super) fn of(document: &ResultDocument) -> Option<Family> {
        let is_card = document.target.kind == TargetKind::BlockDevice
            && document
                .environment
                .get("transport")
                .is_some_and(|t| t == "SD");
        match Kind::of(document) {
            Some(kind) => Some(kind.family()),
            None => is_card.then_some(Family::Card),
        }
    }
}

fn of_links(document: &ResultDocument) -> Option<Kind> {
    let has = |words: &[&str]| {
        interfaces(document).any(|link| words.iter().any(|word| link.starts_with(word)))
    };
    // Faster cards have the slower links, too.
    let kinds = [
        (has(&["pcie-"]) && has(&["sd-"]), Kind::SdExpress),
        (has(&["uhs2-"]), Kind::Uhs2),
        (has(&["sd-sdr50", "sd-sdr104", "sd-ddr50"]), Kind::Uhs1),
        (has(&["sd-"]), Kind::Sd),
        (has(&["emmc-"]), Kind::Emmc),
        (has(&["sata-"]), Kind::Sata),
        (has(&["pcie-"]), Kind::Pcie),
    ];
    kinds.into_iter().find(|(is, _)| *is).map(|(_, kind)| kind)
}

fn of_transport(document: &ResultDocument) -> Option<Kind> {
    match document.environment.get("transport")?.as_str() {
        "SD" => {
            let rate = document.target.link_bytes_per_s?;
            Some(match rate {
                _ if rate <= HIGH_SPEED => Kind::Sd,
                _ if rate <= UHS_1 => Kind::Uhs1,
                _ => Kind::Uhs2,
            })
        }
        "eMMC" => Some(Kind::Emmc),
        "ATA" => Some(Kind::Sata),
        "NVMe" => Some(Kind::Pcie),
        _ => None,
    }
}

/// Documents among which document `i` is ranked, itself included: those of its kind on request, all if no other is of its
/// kind.
pub(in crate::shelf) fn members(
    documents: &[&ResultDocument],
    i: usize,
    scope: RankScope,
) -> Vec<usize> {
    let all: Vec<usize> = (0..documents.len()).collect();
    let kind = documents.get(i).and_then(|d| Kind::of(d));
    let is_same = |j: &usize| documents.get(*j).and_then(|d| Kind::of(d)) == kind;
    let same: Vec<usize> = all.iter().copied().filter(is_same).collect();
    match scope {
        RankScope::Kind if same.len() > 1 => same,
        _ => all,
    }
}

/// `UHS-I cards`, or `drives` if they are of several kinds.
pub(in crate::shelf) fn plural(documents: &[&ResultDocument], members: &[usize]) -> &'static str {
    let kinds = members.iter().filter_map(|j| documents.get(*j));
    let mut kinds = kinds.map(|d| Kind::of(d));
    let first = kinds.next().flatten();
    let is_one = kinds.all(|kind| kind == first);
    first.filter(|_| is_one).map_or("drives", Kind::plural)
}

/// `16 UHS-I cards`.
pub(in crate::shelf) fn phrase(documents: &[&ResultDocument], members: &[usize]) -> String {
    format!("{} {}", members.len(), plural(documents, members))
}

/// Links of the interfaces of a simulated device, the one that it prefers first.
pub(super) fn interfaces(document: &ResultDocument) -> impl Iterator<Item = &str> {
    let parameters = document.target.parameters.iter();
    let links = parameters.filter(|p| p.group == "interface" && p.name == "link");
    links.map(|p| p.value.trim_matches('"'))
}
