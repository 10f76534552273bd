//! Negotiation of options, until the client has chosen the export.

use super::wire::{self, Broken, Words, option_reply};
use super::{Export, LARGEST_BLOCK, PREFERRED_BLOCK, SMALLEST_BLOCK};

/// Outcome of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// More options may come.
    Stay,
    /// Requests come next.
    Begin,
    /// The client goes.
    End,
}

/// Flags and choices of the client.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choices {
    /// No zeroes after the answer to the oldest option.
    pub no_zeroes: bool,
    /// Replies come in chunks.
    pub structured: bool,
}

/// Writes the server's first message.
pub fn greeting(out: &mut Vec<u8>) {
    out.extend(wire::MAGIC.to_be_bytes());
    out.extend(wire::OPTION_MAGIC.to_be_bytes());
    out.extend((wire::FIXED_NEWSTYLE | wire::NO_ZEROES).to_be_bytes());
}

/// Takes the flags with which the client answers.
///
/// # Errors
/// [`Broken`] if a flag is unknown.
pub fn client_flags(flags: u32) -> Result<Choices, Broken> {
    let known = u32::from(wire::FIXED_NEWSTYLE | wire::NO_ZEROES);
    if flags & !known != 0 {
        return Err(Broken("unknown handshake flags"));
    }
    Ok(Choices {
        no_zeroes: flags & u32::from(wire::NO_ZEROES) != 0,
        structured: false,
    })
}

/// Answers one option.
///
/// # Errors
/// [`Broken`] if the client violates the protocol.
pub fn option(
    export: &Export,
    choices: &mut Choices,
    option: u32,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<Step, Broken> {
    let mut reply = |kind, data: &[u8]| option_reply(out, option, kind, data);
    match option {
        wire::OPT_EXPORT_NAME => return export_name(export, *choices, data, out),
        wire::OPT_ABORT => {
            reply(wire::REP_ACK, &[]);
            return Ok(Step::End);
        }
        wire::OPT_LIST if data.is_empty() => {
            let mut server = wire::length(&export.name).to_be_bytes().to_vec();
            server.extend(export.name.as_bytes());
            server.extend(export.description.as_bytes());
            reply(wire::REP_SERVER, &server);
            reply(wire::REP_ACK, &[]);
        }
        wire::OPT_STRUCTURED_REPLY if data.is_empty() => {
            choices.structured = true;
            reply(wire::REP_ACK, &[]);
        }
        wire::OPT_LIST | wire::OPT_STRUCTURED_REPLY => {
            reply(wire::REP_ERR_INVALID, b"this option takes no data");
        }
        wire::OPT_INFO | wire::OPT_GO => return Ok(go(export, *choices, option, data, out)),
        _ => reply(wire::REP_ERR_UNSUP, b"not known here"),
    }
    Ok(Step::Stay)
}

fn is_ours(export: &Export, name: &[u8]) -> bool {
    name.is_empty() || name == export.name.as_bytes()
}

fn export_name(
    export: &Export,
    choices: Choices,
    name: &[u8],
    out: &mut Vec<u8>,
) -> Result<Step, Broken> {
    if !is_ours(export, name) {
        // This option has no error reply.
        return Err(Broken("no export of that name"));
    }
    out.extend(export.size.0.to_be_bytes());
    out.extend(export.flags(choices.structured).to_be_bytes());
    if !choices.no_zeroes {
        out.extend([0; 124]);
    }
    Ok(Step::Begin)
}

/// The name and the facts that the client wants.
fn parse_go(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let mut words = Words(data);
    let length = words.u32()? as usize;
    let name = words.bytes(length)?;
    let count = words.u16()?;
    let wanted = (0..count).map(|_| words.u16()).collect::<Option<_>>()?;
    words.0.is_empty().then_some((name, wanted))
}

fn go(export: &Export, choices: Choices, option: u32, data: &[u8], out: &mut Vec<u8>) -> Step {
    let Some((name, wanted)) = parse_go(data) else {
        option_reply(out, option, wire::REP_ERR_INVALID, b"badly formed");
        return Step::Stay;
    };
    if !is_ours(export, name) {
        let text = format!("unknown export; this server has `{}`", export.name);
        option_reply(out, option, wire::REP_ERR_UNKNOWN, text.as_bytes());
        return Step::Stay;
    }
    let mut fact = |kind: u16, data: &[u8]| {
        let fact = [&kind.to_be_bytes(), data].concat();
        option_reply(out, option, wire::REP_INFO, &fact);
    };
    let flags = export.flags(choices.structured).to_be_bytes();
    fact(
        wire::INFO_EXPORT,
        &[&export.size.0.to_be_bytes()[..], &flags].concat(),
    );
    if wanted.contains(&wire::INFO_NAME) {
        fact(wire::INFO_NAME, export.name.as_bytes());
    }
    if wanted.contains(&wire::INFO_DESCRIPTION) {
        fact(wire::INFO_DESCRIPTION, export.description.as_bytes());
    }
    // Sent without a request, since other clients benefit as well.
    let blocks = [SMALLEST_BLOCK, PREFERRED_BLOCK, LARGEST_BLOCK];
    fact(
        wire::INFO_BLOCK_SIZE,
        &blocks.map(u32::to_be_bytes).concat(),
    );
    option_reply(out, option, wire::REP_ACK, &[]);
    if option == wire::OPT_GO {
        Step::Begin
    } else {
        Step::Stay
    }
}
