//! What a queue pair's state may become, and with which attributes (InfiniBand specification, "Modify Queue Pair").

use crate::wire::Answer;

/// ib_uverbs_qp_type, as far as this device has them.
pub mod kind {
    /// Reliable connection.
    pub const RC: u32 = 2;
    /// Unreliable connection.
    pub const UC: u32 = 3;
    /// Unreliable datagram.
    pub const UD: u32 = 4;
    /// Ethernet frames.
    pub const RAW: u32 = 8;
    /// The sending half of an extended reliable connection.
    pub const XRC_INI: u32 = 9;
    /// The receiving half.
    pub const XRC_TGT: u32 = 10;
    /// mlx5's own: dynamically connected, the sending half.
    pub const DRIVER: u32 = 0xff;
    /// The receiving half. The number is ours: a program asks for it by a flag.
    pub const DCT: u32 = 0x1ff;
}

/// Bits of the attribute mask.
pub mod mask {
    /// The state.
    pub const STATE: u32 = 1;
    /// The state that the program takes it to be in.
    pub const CURRENT: u32 = 1 << 1;
    /// Whether to tell when the send queue is drained.
    pub const NOTIFY: u32 = 1 << 2;
    /// Remote access.
    pub const ACCESS: u32 = 1 << 3;
    /// Index of the P_Key.
    pub const PKEY: u32 = 1 << 4;
    /// The port.
    pub const PORT: u32 = 1 << 5;
    /// The Q_Key.
    pub const QKEY: u32 = 1 << 6;
    /// The path to the other side.
    pub const PATH: u32 = 1 << 7;
    /// Path MTU.
    pub const MTU: u32 = 1 << 8;
    /// Local acknowledge timeout.
    pub const TIMEOUT: u32 = 1 << 9;
    /// Retries.
    pub const RETRY: u32 = 1 << 10;
    /// Retries where the receiver is not ready.
    pub const RNR_RETRY: u32 = 1 << 11;
    /// First sequence number to receive.
    pub const RQ_PSN: u32 = 1 << 12;
    /// Reads and atomics under way from here.
    pub const READS: u32 = 1 << 13;
    /// Another path.
    pub const ALTERNATE: u32 = 1 << 14;
    /// How long a sender has to wait for a receiver.
    pub const RNR_TIMER: u32 = 1 << 15;
    /// First sequence number to send.
    pub const SQ_PSN: u32 = 1 << 16;
    /// Reads and atomics under way from the other side.
    pub const DEST_READS: u32 = 1 << 17;
    /// Migration to the other path.
    pub const MIGRATION: u32 = 1 << 18;
    /// The other side's number.
    pub const DEST: u32 = 1 << 20;
    /// Rate limit.
    pub const RATE: u32 = 1 << 25;
}

/// ib_qp_state.
pub mod state {
    /// Made.
    pub const RESET: u8 = 0;
    /// Initialised.
    pub const INIT: u8 = 1;
    /// Ready to receive.
    pub const RTR: u8 = 2;
    /// Ready to send.
    pub const RTS: u8 = 3;
    /// Sending is being stopped.
    pub const SQD: u8 = 4;
    /// Sending failed.
    pub const SQE: u8 = 5;
    /// Broken.
    pub const ERR: u8 = 6;
}

use mask::{ACCESS, ALTERNATE, CURRENT, DEST, DEST_READS, MIGRATION, MTU, NOTIFY, PATH, PKEY, PORT, QKEY, RATE, READS};
use mask::{RETRY, RNR_RETRY, RNR_TIMER, RQ_PSN, SQ_PSN, STATE, TIMEOUT};

/// Whether requests that are not acknowledged are sent again: these types need the most.
fn is_reliable_sender(kind: u32) -> bool {
    kind == kind::RC || kind == kind::XRC_INI
}

/// Whether reads and atomics are answered.
fn is_responder(kind: u32) -> bool {
    kind == kind::RC || kind == kind::XRC_TGT
}

fn is_datagram(kind: u32) -> bool {
    kind == kind::UD || kind == kind::RAW
}

/// The same for dynamically connected ones, as mlx5 has it.
fn dynamic(kind: u32, from: u8, to: u8) -> Option<(u32, u32)> {
    use state::{ERR, INIT, RESET, RTR, RTS};
    let is_target = kind == kind::DCT;
    Some(match (from, to) {
        (RESET, INIT) if is_target => (ACCESS | PKEY | PORT, 0),
        (INIT, RTR) if is_target => (RNR_TIMER | PATH | MTU, 0),
        _ if is_target => return None,
        (_, RESET | ERR) => (0, 0),
        (RESET, INIT) => (PKEY | PORT, 0),
        (INIT, INIT) => (0, PKEY | PORT),
        (INIT, RTR) => (MTU, PKEY | PATH),
        (RTR, RTS) => (TIMEOUT | RETRY | RNR_RETRY | READS | SQ_PSN, RNR_TIMER),
        (RTS, RTS) => (0, RNR_TIMER),
        _ => return None,
    })
}

/// The attributes that must and those that may come with a change: None where there is no such change.
fn attributes(kind: u32, from: u8, to: u8) -> Option<(u32, u32)> {
    use state::{ERR, INIT, RESET, RTR, RTS, SQD, SQE};
    if kind == kind::DRIVER || kind == kind::DCT {
        return dynamic(kind, from, to);
    }
    let raw = kind == kind::RAW;
    let moving =
        if is_responder(kind) { ACCESS | ALTERNATE | MIGRATION | RNR_TIMER } else { ACCESS | ALTERNATE | MIGRATION };
    let running = match kind {
        kind::RAW => RATE,
        kind::UD => CURRENT | QKEY,
        _ => CURRENT | moving,
    };
    Some(match (from, to) {
        (_, RESET) => (0, 0),
        (RESET, INIT) => (initial(kind), 0),
        (INIT.., ERR) => (0, 0),
        (INIT, INIT) if !raw => (0, initial(kind)),
        (INIT, RTR) if raw => (0, 0),
        (INIT, RTR) if is_datagram(kind) => (0, PKEY | QKEY),
        (INIT, RTR) => {
            let reads = if is_responder(kind) { DEST_READS | RNR_TIMER } else { 0 };
            (PATH | MTU | DEST | RQ_PSN | reads, ALTERNATE | ACCESS | PKEY)
        }
        (RTR, RTS) if raw => (0, RATE),
        (RTR, RTS) if is_reliable_sender(kind) => (TIMEOUT | RETRY | RNR_RETRY | SQ_PSN | READS, running),
        (RTR, RTS) if kind == kind::XRC_TGT => (TIMEOUT | SQ_PSN, running),
        (RTR, RTS) => (SQ_PSN, running),
        (RTS | SQE, RTS) => (0, running),
        (SQD, RTS) => (0, running),
        (RTS, SQD) => (0, NOTIFY),
        (SQD, SQD) if is_datagram(kind) => (0, PKEY | QKEY),
        (SQD, SQD) => {
            let sender = if is_reliable_sender(kind) { TIMEOUT | RETRY | RNR_RETRY | READS | PORT } else { 0 };
            let responder = if is_responder(kind) { DEST_READS | TIMEOUT } else { 0 };
            (0, PATH | PKEY | moving | sender | responder)
        }
        _ => return None,
    })
}

/// What a new queue pair is told first.
fn initial(kind: u32) -> u32 {
    match kind {
        kind::RAW => PORT,
        kind::UD => PKEY | PORT | QKEY,
        _ => PKEY | PORT | ACCESS,
    }
}

/// What is meant by a mask: each half of an extended reliable connection may be given the other's attributes too.
pub fn meant(kind: u32, mask: u32) -> u32 {
    match kind {
        kind::XRC_INI => mask & !(DEST_READS | RNR_TIMER),
        kind::XRC_TGT => mask & !(READS | RETRY | RNR_RETRY),
        _ => mask,
    }
}

/// Refuses what is no change, lacks an attribute or has one too many.
pub fn check(kind: u32, from: u8, to: u8, mask: u32) -> Answer<()> {
    let (needed, allowed) = attributes(kind, from, to).ok_or(libc::EINVAL)?;
    let is_good = mask & needed == needed && mask & !(needed | allowed | STATE) == 0;
    if is_good { Ok(()) } else { Err(libc::EINVAL) }
}

#[cfg(test)]
mod tests {
    use super::state::*;
    use super::*;

    #[test]
    fn a_reliable_connection_goes_its_way() {
        let steps = [
            (RESET, INIT, PKEY | PORT | ACCESS),
            (INIT, RTR, PATH | MTU | DEST | RQ_PSN | DEST_READS | RNR_TIMER),
            (RTR, RTS, TIMEOUT | RETRY | RNR_RETRY | SQ_PSN | READS),
            (RTS, ERR, 0),
            (ERR, RESET, 0),
        ];
        for (from, to, needed) in steps {
            assert_eq!(check(kind::RC, from, to, STATE | needed), Ok(()));
            for bit in (0..32).map(|at| 1 << at).filter(|bit| needed & bit != 0) {
                assert_eq!(check(kind::RC, from, to, (STATE | needed) & !bit), Err(libc::EINVAL));
            }
            assert_eq!(check(kind::RC, from, to, STATE | needed | QKEY), Err(libc::EINVAL));
        }
    }

    #[test]
    fn no_state_is_left_out() {
        assert_eq!(check(kind::RC, RESET, RTR, STATE | PATH | MTU | DEST | RQ_PSN), Err(libc::EINVAL));
        assert_eq!(check(kind::RC, INIT, RTS, STATE | SQ_PSN), Err(libc::EINVAL));
        assert_eq!(check(kind::RC, ERR, RTS, STATE), Err(libc::EINVAL));
        assert_eq!(check(kind::UD, INIT, RTR, STATE), Ok(()));
        assert_eq!(check(kind::RAW, RESET, INIT, STATE | PORT), Ok(()));
    }
}
