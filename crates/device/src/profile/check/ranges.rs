//! The ranges of single values of a device profile. docs/profiles.md lists them; a test compares.

use super::Faults;
use crate::convert::ToF64;
use crate::profile::card::CardSection;
use crate::profile::power_state::PowerStateSection;
use crate::profile::registers::RegistersSection;
use crate::profile::schema::{
    ArraySection, ControllerSection, FtlSection, InterfaceSection, Profile, SlcCacheSection,
};

/// A key, its minimum and maximum, and its values in a profile: none if an optional table or key is absent, several for
/// a list. `*` is the index of a table in its list.
type Range = (&'static str, f64, f64, fn(&Profile) -> Vec<f64>);

pub(super) fn check(profile: &Profile, faults: &mut Faults) {
    for (key, least, most, values) in RANGES {
        for (place, value) in values(profile).into_iter().enumerate() {
            faults.range(&key.replace('*', &place.to_string()), value, *least, *most);
        }
    }
}

#[rustfmt::skip]
const RANGES: &[Range] = &[
    ("nand.channels", 1.0, 64.0, |p| of(p.nand.channels)),
    ("nand.dies_per_channel", 1.0, 64.0, |p| of(p.nand.dies_per_channel)),
    ("nand.planes", 1.0, 16.0, |p| of(p.nand.planes)),
    ("nand.blocks_per_plane", 4.0, 1_048_576.0, |p| of(p.nand.blocks_per_plane)),
    ("nand.word_lines", 1.0, 16_384.0, |p| of(p.nand.word_lines)),
    ("nand.page_kib", 1.0, 128.0, |p| of(p.nand.page_kib)),
    ("nand.bus_mt_per_s", 1.0, 1e4, |p| of(p.nand.bus_mt_per_s)),
    ("nand.bus_overhead_ns", 0.0, 1e6, |p| of(p.nand.bus_overhead_ns.to_f64())),
    ("nand.suspend_us", 0.0, 1e4, |p| of(p.nand.suspend_us)),
    ("nand.suspend_threshold_us", 0.0, 1e6, |p| optional(p.nand.suspend_threshold_us)),
    ("nand.factory_bad_percent", 0.0, 50.0, |p| of(p.nand.factory_bad_percent)),
    ("nand.energy.read_mw", 0.0, 1e5, |p| of(p.nand.energy.read_mw)),
    ("nand.energy.program_mw", 0.0, 1e5, |p| of(p.nand.energy.program_mw)),
    ("nand.energy.erase_mw", 0.0, 1e5, |p| of(p.nand.energy.erase_mw)),
    ("nand.energy.bus_pj_per_byte", 0.0, 1e5, |p| of(p.nand.energy.bus_pj_per_byte)),
    ("nand.slc.read_us", 0.0, 1e6, |p| p.nand.slc.read_us.clone()),
    ("nand.slc.program_us", 0.0, 1e6, |p| p.nand.slc.program_us.clone()),
    ("nand.slc.erase_us", 0.0, 1e6, |p| of(p.nand.slc.erase_us)),
    ("nand.slc.cycles", 1.0, 4_294_967_295.0, |p| of(p.nand.slc.cycles)),
    ("nand.native.read_us", 0.0, 1e6, |p| native(p, |a| a.read_us.clone())),
    ("nand.native.program_us", 0.0, 1e6, |p| native(p, |a| a.program_us.clone())),
    ("nand.native.erase_us", 0.0, 1e6, |p| native(p, |a| of(a.erase_us))),
    ("nand.native.cycles", 1.0, 4_294_967_295.0, |p| native(p, |a| of(a.cycles))),
    ("nand.reliability.rber_fresh", 0.0, 0.1, |p| of(p.nand.reliability.rber_fresh)),
    ("nand.reliability.rber_rated", 0.0, 0.1, |p| of(p.nand.reliability.rber_rated)),
    ("nand.reliability.wear_exponent", 0.1, 10.0, |p| of(p.nand.reliability.wear_exponent)),
    ("nand.reliability.retention_factor_year", 1.0, 1e4, |p| of(p.nand.reliability.retention_factor_year)),
    ("nand.reliability.activation_ev", 0.1, 3.0, |p| optional(p.nand.reliability.activation_ev)),
    ("nand.reliability.page_rber", 0.0, 16.0, |p| p.nand.reliability.page_rber.clone().unwrap_or_default()),
    ("nand.reliability.disturb_per_100k_reads", 0.0, 0.1, |p| of(p.nand.reliability.disturb_per_100k_reads)),
    ("nand.reliability.codeword_bytes", 512.0, 16_384.0, |p| of(p.nand.reliability.codeword_bytes)),
    ("nand.reliability.correctable_bits", 1.0, 4096.0, |p| of(p.nand.reliability.correctable_bits)),
    ("nand.reliability.retries", 0.0, 64.0, |p| of(p.nand.reliability.retries)),
    ("ftl.collection_start", 2.0, 65_536.0, |p| ftl(p, |f| of(f.collection_start))),
    ("ftl.journal_pages", 16.0, 65_536.0, |p| ftl(p, |f| f.journal_pages.map(f64::from).into_iter().collect())),
    ("ftl.idle_collection", 0.0, 65_536.0, |p| ftl(p, |f| of(f.idle_collection))),
    ("ftl.relocation_units", 1.0, 1024.0, |p| ftl(p, |f| of(f.relocation_units))),
    ("ftl.collection_burst_kib", 4.0, 1_048_576.0, |p| ftl(p, |f| optional(f.collection_burst_kib))),
    ("ftl.parity_dies", 0.0, 4095.0, |p| ftl(p, |f| of(f.parity_dies))),
    ("ftl.map.window_kib", 8.0, 4_194_304.0, |p| ftl(p, |f| optional(f.map.window_kib))),
    ("ftl.map.sram_kib", 4.0, 1_048_576.0, |p| ftl(p, |f| optional(f.map.sram_kib))),
    ("ftl.map.update_entries", 16.0, 16_777_216.0, |p| ftl(p, |f| optional(f.map.update_entries))),
    ("ftl.map.host_memory_us", 0.0, 1e4, |p| ftl(p, |f| optional(f.map.host_memory_us))),
    ("ftl.slc_cache.static_gb", 0.0, 1e5, |p| cache(p, |c| c.static_gb)),
    ("ftl.slc_cache.dynamic_gb", 0.0, 1e5, |p| cache(p, |c| c.dynamic_gb)),
    ("ftl.slc_cache.lends_spare_percent", 0.0, 90.0, |p| cache(p, |c| c.lends_spare_percent)),
    ("ftl.slc_cache.reserve_gb", 0.0, 1e5, |p| cache(p, |c| c.reserve_gb)),
    ("ftl.slc_cache.fold_after_ms", 0.0, 1e7, |p| cache(p, |c| c.fold_after_ms)),
    ("controller.cores", 1.0, 64.0, |p| controller(p, |c| c.cores.into())),
    ("controller.read_us", 0.0, 1e6, |p| controller(p, |c| c.read_us)),
    ("controller.write_us", 0.0, 1e6, |p| controller(p, |c| c.write_us)),
    ("controller.per_unit_ns", 0.0, 1e9, |p| controller(p, |c| c.per_unit_ns.to_f64())),
    ("controller.single_units", 2.0, 4096.0, |p| controller_option(p, |c| c.single_units)),
    ("controller.single_read_ns", 0.0, 1e9, |p| controller_option(p, |c| c.single_read_ns)),
    ("controller.single_write_ns", 0.0, 1e9, |p| controller_option(p, |c| c.single_write_ns)),
    ("controller.relocate_unit_us", 0.0, 1e5, |p| controller(p, |c| c.relocate_unit_us)),
    ("controller.decode_us", 0.0, 1e4, |p| controller(p, |c| c.decode_us)),
    ("controller.ecc_engines", 1.0, 256.0, |p| controller_option(p, |c| c.ecc_engines)),
    ("controller.boot_ms", 0.0, 1e6, |p| controller(p, |c| c.boot_ms)),
    ("controller.read_ahead_kib", 0.0, 65_536.0, |p| controller(p, |c| c.read_ahead_kib.into())),
    ("card.au_kib", 16.0, 1_048_576.0, |p| card(p, |c| of(c.au_kib))),
    ("card.open_aus", 1.0, 256.0, |p| card(p, |c| of(c.open_aus))),
    ("card.partial_programs", 1.0, 64.0, |p| card(p, |c| of(c.partial_programs))),
    ("card.switch_us", 0.0, 1e6, |p| card(p, |c| of(c.switch_us))),
    ("card.states_in_ram", 1.0, 256.0, |p| card(p, |c| of(c.states_in_ram))),
    ("card.deferred_merges", 0.0, 4096.0, |p| card(p, |c| of(c.deferred_merges))),
    ("card.merge_after_ms", 0.0, 1e7, |p| card(p, |c| of(c.merge_after_ms))),
    ("card.wear_batch_aus", 0.0, 4096.0, |p| card(p, |c| of(c.wear_batch_aus))),
    ("card.fat.first_au", 0.0, 1_048_576.0, |p| card(p, |c| optional(c.fat.as_ref().map(|f| f.first_au)))),
    ("card.fat.aus", 1.0, 65_536.0, |p| card(p, |c| optional(c.fat.as_ref().map(|f| f.aus)))),
    ("card.fat.apart_aus", 1.0, 1_048_576.0, |p| card(p, |c| optional(c.fat.as_ref().map(|f| f.apart_aus)))),
    ("card.fat.open_aus", 1.0, 256.0, |p| card(p, |c| optional(c.fat.as_ref().map(|f| f.open_aus)))),
    ("card.small_writes.up_to_kib", 1.0, 16_384.0, |p| card(p, |c| optional(c.small_writes.as_ref().map(|s| s.up_to_kib)))),
    ("card.small_writes.cluster_kib", 1.0, 65_536.0, |p| card(p, |c| optional(c.small_writes.as_ref().map(|s| s.cluster_kib)))),
    ("card.shared_log.blocks", 1.0, 256.0, |p| card(p, |c| optional(c.shared_log.as_ref().map(|l| l.blocks)))),
    ("card.shared_log.aus", 1.0, 256.0, |p| card(p, |c| optional(c.shared_log.as_ref().map(|l| l.aus)))),
    ("card.controller.read_us", 0.0, 1e6, |p| card(p, |c| of(c.controller.read_us))),
    ("card.controller.write_us", 0.0, 1e6, |p| card(p, |c| of(c.controller.write_us))),
    ("card.controller.au_lookup_us", 0.0, 1e6, |p| card(p, |c| of(c.controller.au_lookup_us))),
    ("card.controller.page_us", 0.0, 1e6, |p| card(p, |c| of(c.controller.page_us))),
    ("card.controller.read_page_us", 0.0, 1e6, |p| card(p, |c| optional(c.controller.read_page_us))),
    ("card.controller.move_us", 0.0, 1e6, |p| card(p, |c| of(c.controller.move_us))),
    ("card.controller.decode_us", 0.0, 1e6, |p| card(p, |c| of(c.controller.decode_us))),
    ("card.controller.buffer_kib", 1.0, 1_048_576.0, |p| card(p, |c| of(c.controller.buffer_kib))),
    ("card.controller.read_ahead_streams", 1.0, 64.0, |p| card(p, |c| of(c.controller.read_ahead_streams))),
    ("card.controller.read_ahead_kib", 0.0, 65_536.0, |p| card(p, |c| of(c.controller.read_ahead_kib))),
    ("registers.year", 2000.0, 2255.0, |p| registers(p, |r| r.year.into())),
    ("registers.month", 1.0, 12.0, |p| registers(p, |r| r.month.into())),
    ("registers.uhs_grade", 0.0, 3.0, |p| registers(p, |r| r.uhs_grade.into())),
    ("registers.application_class", 0.0, 2.0, |p| registers(p, |r| r.application_class.into())),
    ("power.controller_share", 0.0, 1.0, |p| of(p.power.controller_share)),
    ("power.data_path_pj_per_byte", 0.0, 1e5, |p| of(p.power.data_path_pj_per_byte)),
    ("power_state.*.max_mw", 0.0, 1e6, |p| states(p, |s| s.max_mw)),
    ("power_state.*.entry_us", 0.0, 1e9, |p| states(p, |s| s.entry_us)),
    ("power_state.*.exit_us", 0.0, 1e9, |p| states(p, |s| s.exit_us)),
    ("thermal.ambient_c", -60.0, 120.0, |p| of(p.thermal.ambient_c)),
    ("thermal.controller_to_case_k_per_w", 0.01, 1e4, |p| of(p.thermal.controller_to_case_k_per_w)),
    ("thermal.case_to_ambient_k_per_w", 0.01, 1e4, |p| of(p.thermal.case_to_ambient_k_per_w)),
    ("thermal.controller_j_per_k", 0.01, 1e4, |p| of(p.thermal.controller_j_per_k)),
    ("thermal.case_j_per_k", 0.01, 1e4, |p| of(p.thermal.case_j_per_k)),
    ("thermal.throttle_start_c", -60.0, 1000.0, |p| of(p.thermal.throttle_start_c)),
    ("thermal.throttle_full_c", -60.0, 1000.0, |p| of(p.thermal.throttle_full_c)),
    ("thermal.throttle_clock", 0.01, 1.0, |p| of(p.thermal.throttle_clock)),
    ("thermal.warning_c", -60.0, 1000.0, |p| of(p.thermal.warning_c)),
    ("thermal.critical_c", -60.0, 1000.0, |p| of(p.thermal.critical_c)),
    ("interface.*.packed_writes", 2.0, 63.0, |p| p.interface.iter().filter_map(|i| i.packed_writes).map(Into::into).collect()),
    ("interface.*.command_queue", 2.0, 32.0, |p| p.interface.iter().filter_map(|i| i.command_queue).map(Into::into).collect()),
    ("interface.*.active_dies", 1.0, 4096.0, |p| each(p, |i| i.active_dies.into())),
    ("interface.*.clock_share", 0.01, 1.0, |p| each(p, |i| i.clock_share)),
    ("interface.*.active_mw", 0.0, 1e6, |p| each(p, |i| i.active_mw)),
    ("interface.*.idle_mw", 0.0, 1e6, |p| each(p, |i| i.idle_mw)),
    ("interface.*.link_pj_per_byte", 0.0, 1e6, |p| each(p, |i| i.link_pj_per_byte)),
];

fn of(value: impl Into<f64>) -> Vec<f64> {
    vec![value.into()]
}

fn optional(value: Option<impl Into<f64>>) -> Vec<f64> {
    value.into_iter().map(Into::into).collect()
}

fn native(p: &Profile, values: impl Fn(&ArraySection) -> Vec<f64>) -> Vec<f64> {
    p.nand.native.as_ref().map_or_else(Vec::new, values)
}

fn ftl(p: &Profile, values: impl Fn(&FtlSection) -> Vec<f64>) -> Vec<f64> {
    p.ftl.as_ref().map_or_else(Vec::new, values)
}

fn cache(p: &Profile, value: impl Fn(&SlcCacheSection) -> f64) -> Vec<f64> {
    ftl(p, |f| optional(f.slc_cache.as_ref().map(&value)))
}

fn controller(p: &Profile, value: impl Fn(&ControllerSection) -> f64) -> Vec<f64> {
    optional(p.controller.as_ref().map(value))
}

fn controller_option(p: &Profile, value: impl Fn(&ControllerSection) -> Option<u32>) -> Vec<f64> {
    optional(p.controller.as_ref().and_then(value))
}

fn card(p: &Profile, values: impl Fn(&CardSection) -> Vec<f64>) -> Vec<f64> {
    p.card.as_ref().map_or_else(Vec::new, values)
}

fn each(p: &Profile, value: impl Fn(&InterfaceSection) -> f64) -> Vec<f64> {
    p.interface.iter().map(value).collect()
}

fn states(p: &Profile, value: impl Fn(&PowerStateSection) -> f64) -> Vec<f64> {
    p.power_state.iter().map(value).collect()
}

fn registers(p: &Profile, value: fn(&RegistersSection) -> f64) -> Vec<f64> {
    p.registers.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Range of a key in the first of these tables that has it, as docs/profiles.md prints it.
    fn shown(tables: &[String], key: &str) -> Option<String> {
        let range = RANGES.iter().find(|range| {
            tables
                .iter()
                .any(|table| range.0 == format!("{table}.{key}"))
        });
        range.map(|(_, least, most, _)| match most {
            m if *m == f64::from(u32::MAX) => format!("from {least}"),
            _ => format!("{least}..{most}"),
        })
    }

    /// The page with the ranges of this build inserted after the types of device keys (`integer 1..64`), and their
    /// number.
    fn updated(page: &str) -> (String, usize) {
        let (mut out, mut tables, mut found) = (String::new(), Vec::new(), 0);
        for line in page.lines() {
            if let Some(heading) = line.strip_prefix("### `") {
                let names = heading.trim_end_matches('`').split(", ");
                tables = names
                    .map(|name| match name.strip_prefix("[[") {
                        Some(list) => list.replace("]]", ".*"),
                        None => name.trim_matches(['[', ']']).to_string(),
                    })
                    .collect();
            } else if line.starts_with("## ") {
                tables.clear();
            }
            let item = line.strip_prefix("- `").and_then(|item| {
                let (key, rest) = item.split_once("` (")?;
                let (value, meaning) = rest.split_once("): ")?;
                Some((key, value, meaning))
            });
            let Some((key, value, meaning)) = item else {
                out.push_str(line);
                out.push('\n');
                continue;
            };
            let range = shown(&tables, key);
            found += tables.len() * usize::from(range.is_some());
            let line = match range {
                Some(range) => {
                    let kind = value.split([',', ' ']).next().unwrap_or_default();
                    let optional = if value.ends_with("optional") {
                        ", optional"
                    } else {
                        ""
                    };
                    format!("- `{key}` ({kind} {range}{optional}): {meaning}\n")
                }
                None => format!("{line}\n"),
            };
            out.push_str(&line);
        }
        (out, found)
    }

    #[test]
    fn the_page_of_profiles_has_the_ranges() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/profiles.md");
        let committed = std::fs::read_to_string(&path).unwrap();
        let (devices, rest) = committed.split_once("\n## The library").unwrap();
        let (page, found) = updated(devices);
        let page = format!("{page}\n## The library{rest}");
        assert_eq!(found, RANGES.len(), "each key with a range is on the page");
        if std::env::var_os("UPDATE").is_some() {
            return std::fs::write(&path, &page).unwrap();
        }
        assert!(
            page == committed,
            "docs/profiles.md is out of date; run `UPDATE=1 cargo test -p nandscope-device page_of_profiles`"
        );
    }
}
