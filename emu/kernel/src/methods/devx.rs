//! DEVX: commands to the firmware. This firmware gives a number to whatever it is asked to make and remembers how it was
//! asked; it answers every other command with success and zeros.

use super::{Client, announce, optional32};
use crate::channel::Events;
use crate::ioctl::{Call, DRIVER};
use crate::methods::context::COMP_VECTORS;
use crate::object::{More, Object, Space, Type};
use crate::wire::Answer;

/// The head of every command, and of every answer.
const HEAD: usize = 16;

/// The commands that make something (mlx5_ifc.h), and the space of its number.
fn makes(opcode: u16) -> Option<Space> {
    Some(match opcode {
        0x200 => Space::Key,
        0x400 => Space::Cq,
        // Queue pairs, send and receive queues.
        0x500 | 0x904 | 0x908 => Space::Qp,
        // Shared receive queues, with and without a domain.
        0x700 | 0x705 => Space::Srq,
        0x600 => Space::Signature,
        // Sets of queue counters.
        0x771 => Space::CounterSet,
        0x800 => Space::Pd,
        0x80e => Space::Domain,
        // DCT, XRQ, scheduling elements, multicast groups, transport domains, VXLAN ports, L2 entries, TIR, RMP, TIS, RQT,
        // flow tables, groups, entries and counters, packet reformats, modified headers, general objects.
        0x710 | 0x717 | 0x782 | 0x806 | 0x816 | 0x827 | 0x829 | 0x900 | 0x90c | 0x912 | 0x916 | 0x930 | 0x933
        | 0x936 | 0x939 | 0x93d | 0x940 | 0xa00 => Space::Firmware,
        _ => return None,
    })
}

/// Only contexts that were opened for DEVX may send commands.
fn needs_devx(client: &Client) -> Answer<()> {
    client.with_context(|_, ufile| if ufile.context == Some(true) { Ok(()) } else { Err(libc::EINVAL) })
}

/// A command, of at least a head, with room for an answer of at least a head.
fn command(call: &Call<'_>, input: u16) -> Answer<Vec<u8>> {
    let command = call.input(input)?;
    if command.len() < HEAD || call.room(input + 1) < HEAD { Err(libc::EINVAL) } else { Ok(command) }
}

/// MLX5_IB_METHOD_DEVX_OTHER: a few capabilities, and nothing else to tell.
pub fn other(client: &Client, call: &Call<'_>) -> Answer<()> {
    const QUERY_CAPABILITIES: [u8; 2] = [1, 0];
    client.with_context(|_, _| Ok(()))?;
    let command = call.input(DRIVER)?;
    // The general ones; the lowest bit says whether as they are or as they could be.
    let is_general = matches!(*command.get(6..8).unwrap_or_default(), [0, 0 | 1]);
    match command.starts_with(&QUERY_CAPABILITIES) && is_general {
        true => call.output(DRIVER + 1, &capabilities()),
        false => call.output(DRIVER + 1, &[]),
    }
    call.flush()
}

/// The bits of the general capabilities (mlx5_ifc.h: cmd_hca_cap) for what libmlx5 makes by DEVX objects alone: keys with
/// signatures and encryption, and keys to encrypt with.
fn capabilities() -> Vec<u8> {
    const SIGNATURE: [usize; 2] = [535, 1152];
    const AES_XTS: [usize; 2] = [1009, 1129];
    /// Types of general objects are a number of 64 bits; encryption keys are type 12.
    const ENCRYPTION_KEYS: usize = 1024 + 63 - 12;
    let mut answer = vec![0; 4096];
    for bit in [SIGNATURE, AES_XTS].concat().into_iter().chain([ENCRYPTION_KEYS]) {
        answer[HEAD + bit / 8] |= 0x80 >> (bit % 8);
    }
    answer
}

/// MLX5_IB_METHOD_DEVX_OBJ_CREATE.
pub fn create(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_devx(client)?;
    let command = command(call, DRIVER + 1)?;
    let space = makes(u16::from_be_bytes([command[0], command[1]])).ok_or(libc::EINVAL)?;
    let (handle, number) = client.with_context(|device, ufile| {
        let number = device.new_number(space)?;
        let object = Object::new(Type::Devx).numbered(space, number).with(More::Made(command));
        Ok((ufile.add(object), number))
    })?;
    // Status and syndrome, then the number, in the low bits of its word; that of a signature's state comes later.
    let mut answer = vec![0; HEAD + 4];
    let at = if space == Space::Signature { HEAD } else { 8 };
    answer[at..at + 4].copy_from_slice(&number.to_be_bytes());
    call.new_handle(DRIVER, handle)?;
    call.output(DRIVER + 2, &answer);
    announce(client, call, handle, Type::Devx)
}

/// The answer to a question about what has a number in the firmware: what it was made with, which stands in the same
/// place in both, after the head.
fn told(client: &Client, call: &Call<'_>) -> Answer<Vec<u8>> {
    const HAVE: [Type; 6] = [Type::Devx, Type::Cq, Type::Qp, Type::Srq, Type::Wq, Type::Table];
    needs_devx(client)?;
    let handle = call.handle(DRIVER)?;
    let mut answer = client.with_handles(|_, ufile| {
        let object = ufile.any(handle)?;
        match &object.more {
            _ if !HAVE.contains(&object.what) => Err(libc::EINVAL),
            More::Made(command) => Ok(command.clone()),
            _ => Ok(vec![0; HEAD]),
        }
    })?;
    answer[..HEAD].fill(0);
    Ok(answer)
}

/// MLX5_IB_METHOD_DEVX_OBJ_MODIFY, which changes nothing that is told later.
pub fn modify(client: &Client, call: &Call<'_>) -> Answer<()> {
    told(client, call)?;
    command(call, DRIVER + 1)?;
    call.output(DRIVER + 2, &[]);
    call.flush()
}

/// MLX5_IB_METHOD_DEVX_OBJ_QUERY.
pub fn query(client: &Client, call: &Call<'_>) -> Answer<()> {
    let answer = told(client, call)?;
    command(call, DRIVER + 1)?;
    call.output(DRIVER + 2, &answer);
    call.flush()
}

/// MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC: where answers to commands in the background are read.
pub fn answer_channel(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_devx(client)?;
    let fd = client.with_context(|_, ufile| ufile.channels.open(Events::Commands))?;
    call.new_fd(DRIVER, fd)
}

/// MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY: a command, a channel, the program's name for it, how long the answer is to be.
pub fn query_in_background(client: &Client, call: &Call<'_>) -> Answer<()> {
    const ANSWER_MAX: u64 = 65_535;
    let answer = told(client, call)?;
    let (fd, name, length) = (call.fd(DRIVER + 2)?, call.number(DRIVER + 3)?, call.number(DRIVER + 4)?);
    let length = usize::try_from(length.min(ANSWER_MAX)).map_err(|_| libc::EINVAL)?;
    if call.input(DRIVER + 1)?.len() < HEAD || length < HEAD {
        return Err(libc::EINVAL);
    }
    let mut message = [&name.to_ne_bytes()[..], &answer].concat();
    message.resize(8 + length, 0);
    client.with_context(|_, ufile| ufile.channels.tell(&fd, Events::Commands, &message))
}

/// MLX5_IB_METHOD_DEVX_QUERY_EQN: the event queue of a completion vector.
pub fn event_queue(client: &Client, call: &Call<'_>) -> Answer<()> {
    client.with_context(|_, _| Ok(()))?;
    let vector = u32::try_from(call.number(DRIVER)?).ok().filter(|vector| *vector < COMP_VECTORS);
    call.output(DRIVER + 1, &(vector.ok_or(libc::EINVAL)? + 1).to_ne_bytes());
    call.flush()
}

/// MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC.
pub fn event_channel(client: &Client, call: &Call<'_>) -> Answer<()> {
    const OMIT_DATA: u32 = 1;
    if optional32(call, DRIVER + 1)? & !OMIT_DATA != 0 {
        return Err(libc::EINVAL);
    }
    needs_devx(client)?;
    let fd = client.with_context(|_, ufile| ufile.channels.open(Events::Firmware))?;
    call.new_fd(DRIVER, fd)
}

/// MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT: a channel, an object, which events. None ever comes.
pub fn subscribe(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_devx(client)?;
    let fd = call.fd(DRIVER)?;
    client.with_context(|_, ufile| ufile.channels.check(&fd, Events::Firmware))?;
    if call.has(DRIVER + 1) {
        let handle = call.handle(DRIVER + 1)?;
        client.with_handles(|_, ufile| ufile.any(handle).map(drop))?;
    }
    if call.input(DRIVER + 2)?.len() < 2 { Err(libc::EINVAL) } else { Ok(()) }
}
