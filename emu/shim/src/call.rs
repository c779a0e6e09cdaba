//! ioctl(2) and write(2) on a device file.
use core::ffi::{c_int, c_ulong};

use verbsguard_emu_proto::{PAYLOAD_MAX, request};

use crate::sys::{self, Result};
use crate::talk::Talk;

/// RDMA_VERBS_IOCTL of rdma_user_ioctl.h.
pub const VERBS_IOCTL: c_ulong = 0xc018_1b01;
/// `struct ib_uverbs_ioctl_hdr`: length at 0, number of attributes at 6.
const HEADER: usize = 24;
const ATTRIBUTE: usize = 16;

/// ioctl(RDMA_VERBS_IOCTL). A header with a wrong length goes alone, since the kernel refuses it before it looks at
/// attributes.
pub fn ioctl(fd: c_int, address: u64) -> Result<usize> {
    let mut talk = Talk::new(request::IOCTL, [address, 0, 0, 0]);
    let payload = talk.payload(PAYLOAD_MAX);
    let (header, rest) = payload.split_at_mut(HEADER);
    sys::copy_in(header, address)?;
    let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
    let count = usize::from(u16::from_ne_bytes([header[6], header[7]]));
    let good = length == HEADER + count * ATTRIBUTE && length <= PAYLOAD_MAX;
    let length = if good { length } else { HEADER };
    sys::copy_in(&mut rest[..length - HEADER], address + HEADER as u64)?;
    talk.payload(length);
    talk.hold(fd, false).map(|_| 0)
}

/// write(2): the commands of old.
pub fn write(fd: c_int, size: usize) -> Result<usize> {
    Talk::new(request::WRITE, [size as u64, 0, 0, 0]).hold(fd, false).map(|_| size)
}
