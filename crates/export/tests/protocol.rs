//! What the server says to clients that keep to the protocol.

use crate::support;
use crate::support::{CAPACITY, Client, Serving, export, go};
use nandscope_export::nbd::Export;
use nandscope_export::nbd::wire::{self, command, command_flag, error, flag};
use nandscope_units::Nanos;

const FAST: Nanos = Nanos(100_000);

/// Bytes that differ from place to place.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + (i >> 8) * 13) as u8).collect()
}

#[test]
fn what_is_written_is_read() {
    let serving = Serving::start(export(), FAST);
    let data = pattern(300 << 10);
    for structured in [false, true] {
        let mut client = serving.client(structured);
        let at = 512 * 1001;
        assert_eq!(client.write(command_flag::FUA, at, &data), 0);
        assert_eq!(client.ask(0, command::FLUSH, 0, 0).0, 0);
        // Long answers go out in pieces, short ones in one.
        for (from, length) in [(0, 300 << 10), (512, 512), (70_144, 33 << 10)] {
            let read = client.read(at + from, length as u32);
            assert!(read == data[from as usize..from as usize + length]);
        }
        assert!(client.read(at - 512, 512).iter().all(|b| *b == 0));
        // Another client sees the same, and what it takes away is away.
        let mut other = serving.client(!structured);
        assert_eq!(other.ask(0, command::TRIM, at + 512, 1024).0, 0);
        assert_eq!(other.ask(0, command::WRITE_ZEROES, at + 4096, 512).0, 0);
        let flags = command_flag::NO_HOLE | command_flag::FUA;
        assert_eq!(other.ask(flags, command::WRITE_ZEROES, at + 8192, 512).0, 0);
        assert_eq!(other.ask(0, command::CACHE, at, 4096).0, 0);
        let mut expected = data.clone();
        for gone in [512..1536, 4096..4608, 8192..8704] {
            expected[gone].fill(0);
        }
        assert!(client.read(at, 300 << 10) == expected);
    }
}

#[test]
fn errors_that_leave_the_connection_as_it_is() {
    let end = CAPACITY.0;
    let mut reads = Vec::new();
    for structured in [false, true] {
        let serving = Serving::start(export(), FAST);
        let mut client = serving.client(structured);
        let cases = [
            (0, command::READ, 1, 512, error::EINVAL),
            (0, command::READ, 0, 100, error::EINVAL),
            (0, command::READ, 0, 0, error::EINVAL),
            (0, command::READ, end, 512, error::EINVAL),
            (0, command::READ, u64::MAX - 511, 512, error::EINVAL),
            (0, command::READ, 0, (32 << 20) + 512, error::EINVAL),
            (0, command::TRIM, end - 512, 1024, error::EINVAL),
            (0, command::WRITE_ZEROES, end - 512, 1024, error::ENOSPC),
            (0, command::FLUSH, 512, 512, error::EINVAL),
            (command_flag::DF, command::TRIM, 0, 512, error::EINVAL),
            (1 << 9, command::READ, 0, 512, error::EINVAL),
            (0, 7, 0, 512, error::EINVAL),
            (0, 999, 0, 512, error::EINVAL),
            (command_flag::FAST_ZERO, command::WRITE_ZEROES, 0, 512, 0),
            (
                command_flag::FAST_ZERO | command_flag::NO_HOLE,
                command::WRITE_ZEROES,
                0,
                512,
                error::ENOTSUP,
            ),
        ];
        for (flags, command, offset, length, expected) in cases {
            let (error, data) = client.ask(flags, command, offset, length);
            assert_eq!(
                (error, data.len()),
                (expected, 0),
                "{command} {offset} {length}"
            );
        }
        assert_eq!(client.write(0, end - 512, &[1; 1024]), error::ENOSPC);
        assert_eq!(client.write(0, 3, &[1; 512]), error::EINVAL);
        assert_eq!(client.write(0, 0, &[]), error::EINVAL);
        reads.push(client.read(end - 512, 512));
    }
    assert_eq!(reads, [vec![0; 512], vec![0; 512]]);
}

fn flags_of(export: Export) -> (u16, Client, Serving) {
    let serving = Serving::start(export, FAST);
    let mut client = Client(serving.stream());
    client.hello();
    client.option(wire::OPT_GO, &go("even", &[]));
    let answers = client.answers();
    let (reply, fact) = &answers[0];
    assert_eq!((*reply, &fact[..2]), (wire::REP_INFO, &[0, 0][..]));
    assert_eq!(fact[2..10], CAPACITY.0.to_be_bytes());
    (u16::from_be_bytes([fact[10], fact[11]]), client, serving)
}

#[test]
fn flags_say_what_is_taken() {
    let (flags, ..) = flags_of(export());
    let always = flag::HAS_FLAGS
        | flag::SEND_FLUSH
        | flag::SEND_FUA
        | flag::CAN_MULTI_CONN
        | flag::SEND_CACHE;
    let zeroes = flag::SEND_WRITE_ZEROES;
    assert_eq!(
        flags,
        always | zeroes | flag::SEND_TRIM | flag::SEND_FAST_ZERO
    );

    let (flags, mut client, _serving) = flags_of(Export {
        discards: false,
        ..export()
    });
    assert_eq!(flags, always | zeroes);
    assert_eq!(client.ask(0, command::TRIM, 0, 512).0, error::ENOTSUP);
    assert_eq!(
        client
            .ask(command_flag::FAST_ZERO, command::WRITE_ZEROES, 0, 512)
            .0,
        error::ENOTSUP
    );
    assert_eq!(client.ask(0, command::WRITE_ZEROES, 0, 512).0, 0);

    let (flags, mut client, _serving) = flags_of(Export {
        read_only: true,
        ..export()
    });
    assert_eq!(flags, always | flag::READ_ONLY);
    assert_eq!(client.write(0, 0, &[1; 512]), error::EPERM);
    for command in [command::TRIM, command::WRITE_ZEROES] {
        assert_eq!(client.ask(0, command, 0, 512).0, error::EPERM);
    }
    assert_eq!(client.read(0, 512), [0; 512]);
    assert_eq!(client.ask(0, command::FLUSH, 0, 0).0, 0);
}

#[test]
fn negotiation() {
    let serving = Serving::start(export(), FAST);
    let mut client = Client(serving.stream());
    client.hello();
    client.option(wire::OPT_LIST, &[]);
    let answers = client.answers();
    assert_eq!(
        answers[0],
        (wire::REP_SERVER, b"\0\0\0\x04evenfor tests".to_vec())
    );
    assert_eq!(answers[1].0, wire::REP_ACK);
    // STARTTLS, meta contexts, nonsense.
    for option in [5, 9, 10, 4711] {
        client.option(option, b"whatever");
        assert_eq!(client.answers()[0].0, wire::REP_ERR_UNSUP);
    }
    client.option(wire::OPT_GO, &go("other", &[]));
    let answers = client.answers();
    assert_eq!((answers.len(), answers[0].0), (1, wire::REP_ERR_UNKNOWN));
    for data in [
        &b""[..],
        b"\0\0\0\x09short\0\0",
        b"\0\0\0\0\0\x01",
        b"\0\0\0\0\0\0x",
    ] {
        client.option(wire::OPT_GO, data);
        assert_eq!(client.answers()[0].0, wire::REP_ERR_INVALID);
    }
    client.option(wire::OPT_LIST, b"x");
    assert_eq!(client.answers()[0].0, wire::REP_ERR_INVALID);
    client.option(wire::OPT_INFO, &go("", &[1, 2, 3]));
    let facts: Vec<_> = client.answers().into_iter().map(|(_, fact)| fact).collect();
    assert_eq!(facts[1], b"\0\x01even");
    assert_eq!(facts[2], b"\0\x02for tests");
    assert_eq!(facts[3], [0, 3, 0, 0, 2, 0, 0, 0, 16, 0, 2, 0, 0, 0]);
    // The oldest way in, with and without the zeroes after it.
    client.option(wire::OPT_EXPORT_NAME, b"even");
    let mut head = [0; 10];
    std::io::Read::read_exact(&mut client.0, &mut head).unwrap();
    assert_eq!(head[..8], CAPACITY.0.to_be_bytes());
    assert_eq!(client.read(0, 512), [0; 512]);
    let mut client = Client(serving.stream());
    std::io::Read::read_exact(&mut client.0, &mut [0; 18]).unwrap();
    client.send(&1u32.to_be_bytes());
    client.option(wire::OPT_EXPORT_NAME, b"");
    std::io::Read::read_exact(&mut client.0, &mut [0; 134]).unwrap();
    assert_eq!(client.read(0, 512), [0; 512]);
    // Goodbye, in both stages.
    client.send(&support::request(0, command::DISCONNECT, 0, 0, 0));
    assert!(client.is_dropped());
    let mut client = Client(serving.stream());
    client.hello();
    client.option(wire::OPT_ABORT, &[]);
    assert_eq!(client.answers()[0].0, wire::REP_ACK);
    assert!(client.is_dropped());
}

/// Requests before the disconnect request are answered before the connection ends.
#[test]
fn goodbye_waits_for_the_answers() {
    let serving = Serving::start(export(), Nanos::from_millis(30));
    let mut client = serving.client(true);
    for cookie in 0..5 {
        client.send(&support::request(0, command::READ, cookie, 0, 512));
    }
    client.send(&support::request(0, command::DISCONNECT, 0, 0, 0));
    for cookie in 0..5 {
        assert_eq!(client.answer(512).unwrap(), (cookie, 0, vec![0; 512]));
    }
    assert!(client.is_dropped());
}
