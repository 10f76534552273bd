//! Verification against devices that are not what they claim to be, and against genuine ones.

use crate::support::{Device, Fault, Folder, salt};
use nandscope_infer::authenticity::{
    Behaviour, Finding, JournaledDevice, Options, Since, UndoJournal, Verdict, check_left, restore,
    verify,
};
use nandscope_units::random::SplitMix64;

fn run(device: &mut Device, number: u64) -> Finding {
    let folder = Folder::new();
    let journaled = JournaledDevice {
        identity: "a test".into(),
        blocks: device.claims,
        block_bytes: 512,
    };
    let path = folder.0.join("journal");
    let mut journal = UndoJournal::create(&path, journaled, salt(number)).unwrap();
    let before = device.snapshot();
    let options = Options::default();
    let finding = verify(device, &mut journal, &options, &|| false, &mut |_, _, _| {}).unwrap();
    device.same_as(&before);
    let all = finding.written + finding.restored.written;
    // Blocks written to replace the contents of a cache are not counted in the budget.
    let most = match device.fault {
        Fault::Cached { cache, .. } if cache > 100 => 5000,
        _ => 2000,
    };
    assert!(all < most, "{all} blocks written, {:?}", device.fault);
    finding
}

/// A real capacity that no one would choose, from 0.1 to 99.9 % of the claim.
fn real(random: &mut SplitMix64, claims: u64) -> u64 {
    let share = match random.below(4) {
        0 => 1 + random.below(20),
        1 => 980 + random.below(20),
        _ => 1 + random.below(999),
    };
    let about = claims * share / 1000;
    let jitter = random.below((claims / 2000).max(1));
    (about + jitter).clamp(claims / 1000, claims * 999 / 1000)
}

fn check(device: &Device, finding: &Finding) {
    let fault = device.fault;
    assert_eq!(finding.verdict(), Verdict::Fake, "{fault:?} {finding:?}");
    let claims = device.claims;
    let real = fault.real().unwrap();
    assert_eq!(
        finding.real.exact(),
        Some(real),
        "{fault:?} of {claims}, {:?}",
        finding.real
    );
    let right = match (fault, finding.behaviour.unwrap()) {
        (Fault::Wrap { .. }, Behaviour::Wrap { period }) => period == real,
        (Fault::Drop { .. }, Behaviour::Drop) => true,
        (
            Fault::Keeps { .. } | Fault::Mirror { .. } | Fault::First { .. } | Fault::Echo { .. },
            Behaviour::Stale,
        ) => true,
        // Blocks that stay zero look like blocks that lose their data.
        (Fault::Keeps { .. } | Fault::Mirror { .. }, Behaviour::Drop) => device.blank,
        (Fault::Cached { cache, .. }, Behaviour::Cached { blocks }) => blocks == cache,
        (Fault::Errors { .. }, Behaviour::Errors) => true,
        _ => false,
    };
    assert!(right, "{fault:?} taken for {:?}", finding.behaviour);
}

/// A fake of the kind that the number names, with a cache of `most` blocks at most.
fn draw(random: &mut SplitMix64, number: u64, most: u64) -> Device {
    let claims =
        [1 << 16, 1 << 21, 62_333_952, 1 << 28][random.below(4) as usize] + random.below(4096);
    let real = real(random, claims);
    let fault = match number % 8 {
        0 => Fault::Wrap { real },
        // A power of two, as in most fakes of the shop.
        1 => Fault::Wrap {
            real: 1 << (real.ilog2()),
        },
        2 => Fault::Drop { real, byte: None },
        3 => Fault::Drop {
            real,
            byte: Some([0, 0xff][random.below(2) as usize]),
        },
        4 if random.below(2) == 0 => Fault::Keeps { real },
        4 => Fault::Mirror { real },
        5 => Fault::First { real },
        // A cache that holds everything past the real end is only found by a power cut.
        6 => {
            let real = real.min(claims - 16);
            let cache = 1 + random.below((claims - real - 8).min(most));
            Fault::Cached { real, cache }
        }
        _ if random.below(2) == 0 => Fault::Errors { real },
        _ => Fault::Echo { real },
    };
    Device::new(claims, fault, number)
}

#[test]
fn a_hundred_fakes_are_found_with_their_capacity_to_the_block() {
    let mut random = SplitMix64::new(11);
    for number in 0..100 {
        let mut device = draw(&mut random, number, 100);
        let finding = run(&mut device, number);
        check(&device, &finding);
    }
}

#[test]
#[ignore = "slow: 400 verifications"]
fn slow_four_hundred_fakes_with_caches_of_up_to_512_blocks_are_found() {
    let mut random = SplitMix64::new(12);
    for number in 0..400 {
        let mut device = draw(&mut random, number, 512);
        device.blank = random.below(2) == 0;
        let finding = run(&mut device, number);
        check(&device, &finding);
    }
}

#[test]
fn caches_of_up_to_512_blocks_hide_no_end() {
    let mut random = SplitMix64::new(17);
    let caches = [1, 64, 250, 256, 300, 384, 400, 480, 500, 510, 511, 512];
    for claims in [1 << 16, 1 << 21, 62_333_952, 1 << 28] {
        for cache in caches {
            let real = real(&mut random, claims).min(claims - cache - 16);
            let mut device = Device::new(claims, Fault::Cached { real, cache }, cache);
            device.blank = random.below(2) == 0;
            let finding = run(&mut device, cache);
            check(&device, &finding);
        }
    }
}

#[test]
fn a_card_that_keeps_nothing_is_failing_and_no_fake() {
    let byte = Some(0);
    let claims = 62_333_952;
    let mut all = vec![
        Fault::Drop { real: 0, byte },
        Fault::Keeps { real: 0 },
        Fault::Errors { real: 0 },
    ];
    // A worn-out card accepts writes into its RAM, and forgets them.
    let caches = [1, 8, 64, 128, 300, 500, 520, 540, 600, 640];
    all.extend(caches.map(|cache| Fault::Cached { real: 0, cache }));
    for fault in all {
        for blank in [false, true] {
            let mut device = Device::new(claims, fault, 3);
            device.blank = blank;
            let finding = run(&mut device, 3);
            let verdict = finding.verdict();
            assert_eq!(verdict, Verdict::Failing, "{fault:?}: {:?}", finding.real);
        }
    }
}

#[test]
fn a_card_that_wraps_at_3000_of_8192_mib_is_found() {
    let mib = 2048;
    for real in [
        3000 * mib,
        3000 * mib + 1,
        4096 * mib,
        8191 * mib,
        5461 * mib - 7,
    ] {
        let mut device = Device::new(8192 * mib, Fault::Wrap { real }, 5);
        let finding = run(&mut device, real);
        check(&device, &finding);
    }
}

#[test]
fn a_card_whose_beginning_is_no_part_of_the_wrap_is_found() {
    let claims = 1 << 21;
    for (kept, real) in [
        (513, 700_001),
        (300_000, 700_001),
        (699_900, 700_001),
        (1 << 20, (1 << 20) + 4096),
        (1_000_000, 2_000_000),
    ] {
        let mut device = Device::new(claims, Fault::WrapBehind { kept, real }, 5);
        let finding = run(&mut device, kept);
        let period = real - kept;
        assert_eq!(finding.behaviour, Some(Behaviour::Wrap { period }));
        assert_eq!(finding.real.exact(), Some(real), "{kept}");
    }
}

#[test]
fn tags_that_are_left_tell_what_became_of_them() {
    let claims = 1 << 21;
    for (change, verdict) in [
        (None, Verdict::Genuine),
        (
            Some(Fault::Drop {
                real: claims / 2,
                byte: Some(0),
            }),
            Verdict::Fake,
        ),
        // Errors prove no false capacity.
        (Some(Fault::Errors { real: claims / 2 }), Verdict::Failing),
    ] {
        let folder = Folder::new();
        let mut device = Device::new(claims, Fault::None, 2);
        let before = device.snapshot();
        let journaled = JournaledDevice {
            identity: "a test".into(),
            blocks: claims,
            block_bytes: 512,
        };
        let path = folder.0.join("journal");
        let mut journal = UndoJournal::create(&path, journaled, salt(3)).unwrap();
        let options = Options {
            leave: true,
            ..Options::default()
        };
        let finding = verify(
            &mut device,
            &mut journal,
            &options,
            &|| false,
            &mut |_, _, _| {},
        );
        let left = finding.unwrap().left;
        assert!(left.len() > 500);
        drop(journal);
        device.fault = change.unwrap_or(Fault::None);
        let mut journal = UndoJournal::open(&path).unwrap();
        let kept = check_left(
            &mut device,
            &mut journal,
            &left,
            1,
            &|| false,
            &mut |_, _, _| {},
        );
        let kept = kept.unwrap();
        assert_eq!(kept.verdict(), verdict, "{:?}", kept.reasons());
        if change.is_none() {
            // A later tag that was lost leaves an older one.
            let mut later = left.clone();
            later[7].generation += 1;
            let kept = check_left(
                &mut device,
                &mut journal,
                &later,
                1,
                &|| false,
                &mut |_, _, _| {},
            );
            let kept = kept.unwrap();
            assert_eq!(kept.verdict(), Verdict::Failing);
            assert!(
                kept.reasons()
                    .iter()
                    .any(|r| r.contains("latest write was lost"))
            );
            let restored = restore(&mut device, &mut journal, Since::LeftBehind).unwrap();
            assert!(restored.lost.is_empty() && restored.foreign.is_empty());
            device.same_as(&before);
        }
    }
}

#[test]
fn no_genuine_device_is_accused() {
    let mut random = SplitMix64::new(5);
    for number in 0..100 {
        let claims = 64 + random.below(1 << (10 + number % 18));
        let mut device = Device::new(claims, Fault::None, number);
        let finding = run(&mut device, number);
        assert_eq!(finding.verdict(), Verdict::Genuine, "{claims} {finding:?}");
        assert!(finding.restored.lost.is_empty());
        assert_eq!(finding.real.exact(), Some(claims));
    }
}

/// Devices that are blank, full of data, or have the tags of an earlier verification whose journal is gone.
#[test]
#[ignore = "slow: 3,000 verifications"]
fn slow_no_genuine_device_in_prior_use_is_accused() {
    let mut random = SplitMix64::new(6);
    for number in 0..2000 {
        let claims = 64 + random.below(1 << (10 + number % 18));
        let mut device = Device::new(claims, Fault::None, number);
        device.blank = number % 4 == 0;
        if number % 2 == 1 {
            leave_tags(&mut device, number + 10_000);
        }
        let finding = run(&mut device, number);
        assert_eq!(finding.verdict(), Verdict::Genuine, "{claims} {finding:?}");
        assert!(finding.restored.lost.is_empty());
        assert_eq!(finding.real.exact(), Some(claims));
    }
}

fn leave_tags(device: &mut Device, number: u64) {
    let folder = Folder::new();
    let journaled = JournaledDevice {
        identity: "a test".into(),
        blocks: device.claims,
        block_bytes: 512,
    };
    let mut journal =
        UndoJournal::create(&folder.0.join("journal"), journaled, salt(number)).unwrap();
    let options = Options {
        leave: true,
        ..Options::default()
    };
    verify(device, &mut journal, &options, &|| false, &mut |_, _, _| {}).unwrap();
}

#[test]
fn a_card_with_single_bad_blocks_is_failing_and_no_fake() {
    let mut device = Device::new(1 << 20, Fault::Scattered { every: 5 }, 1);
    let finding = run(&mut device, 1);
    assert_eq!(finding.verdict(), Verdict::Failing, "{finding:?}");
    let share = finding.wrong_places.len() as f64 / finding.sampling.readings.len() as f64;
    assert!((0.1..0.3).contains(&share), "{share}");
    // 1 − 0.8^15 at least.
    assert!(finding.detection(0.2) > 0.96);
    assert_eq!(finding.detection(0.0), 0.0);
}

#[test]
fn a_full_write_and_read_counts_what_is_there_and_goes_on_after_an_interruption() {
    use nandscope_infer::authenticity::{Full, VerifyError};
    let claims = 40_000;
    for (fault, real) in [
        (Fault::None, claims),
        (Fault::Wrap { real: 12_345 }, 12_345),
        (
            Fault::Drop {
                real: 30_001,
                byte: Some(0),
            },
            30_001,
        ),
        (Fault::Errors { real: 30_001 }, 30_001),
    ] {
        let mut device = Device::new(claims, fault, 1);
        let mut full = Full::new("a test".into(), claims, 512, salt(1));
        let mut saved = full.clone();
        let mut interruptions = 0;
        loop {
            let looks = std::cell::Cell::new(0);
            let stop = || {
                looks.set(looks.get() + 1);
                looks.get() > 7
            };
            let result = full.go_on(&mut device, &stop, &mut |state| {
                saved = state.clone();
                Ok(())
            });
            match result {
                Ok(()) => break,
                Err(VerifyError::Stopped) => interruptions += 1,
                Err(other) => panic!("{other}"),
            }
            // Another process continues from the saved state.
            full = saved.clone();
        }
        assert!(interruptions > 2);
        assert_eq!(full.real_blocks(), real, "{full:?}");
        let wrong = full.elsewhere + full.foreign + full.unreadable;
        assert_eq!(full.right + wrong, claims);
        assert!(full.share() == 1.0 && !full.write_rates.is_empty());
    }
}

#[test]
fn a_full_run_does_not_go_on_with_another_device_and_takes_errors_for_no_fake() {
    use nandscope_infer::authenticity::{Full, VerifyError};
    let claims = 40_000;
    let mut device = Device::new(claims, Fault::Errors { real: 30_001 }, 1);
    let mut full = Full::new("a test".into(), claims, 512, salt(1));
    let looks = std::cell::Cell::new(0);
    let stop = || {
        looks.set(looks.get() + 1);
        looks.get() > 7
    };
    let result = full.go_on(&mut device, &stop, &mut |_| Ok(()));
    assert!(matches!(result, Err(VerifyError::Stopped)));
    let mut other = Device::new(claims, Fault::None, 2);
    let result = full.go_on(&mut other, &|| false, &mut |_| Ok(()));
    assert!(matches!(result, Err(VerifyError::Unfit(_))));
    assert_eq!(other.writes, 0);
    full.go_on(&mut device, &|| false, &mut |_| Ok(())).unwrap();
    assert_eq!(full.verdict(), Verdict::Failing);
}
