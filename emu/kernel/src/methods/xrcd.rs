//! Domains of extended reliable connections. Those opened with the same file are one domain, in all device files.

use super::{CORE_IN, CORE_OUT, Client, announce, needs_room};
use crate::ioctl::{Call, u32_at};
use crate::object::{Object, Space, Type};
use crate::wire::Answer;

/// IB_USER_VERBS_CMD_OPEN_XRCD: response, fd, oflags.
pub fn open(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_room(call, CORE_OUT, 4)?;
    let input = call.input(CORE_IN)?;
    let (fd, flags) = (u32_at(&input, 8).cast_signed(), u32_at(&input, 12).cast_signed());
    let file = if fd == -1 { None } else { Some(inode(call, fd)?) };
    let handle = client.with_context(|device, ufile| {
        let known = file.and_then(|file| device.domain(file));
        let number = match known {
            Some(_) if flags & libc::O_EXCL != 0 => return Err(libc::EINVAL),
            // What the kernel says of a domain that is not there and shall not be made.
            None if file.is_some() && flags & libc::O_CREAT == 0 => return Err(libc::EAGAIN),
            Some(number) => device.share_number(Space::Domain, number),
            None => device.new_number(Space::Domain)?,
        };
        if let Some(file) = file {
            device.name_domain(file, number);
        }
        Ok(ufile.add(Object::new(Type::Xrcd).numbered(Space::Domain, number)))
    })?;
    call.output(CORE_OUT, &handle.to_ne_bytes());
    announce(client, call, handle, Type::Xrcd)
}

fn inode(call: &Call<'_>, fd: i32) -> Answer<(u64, u64)> {
    let fd = call.talk().descriptor(fd.into())?;
    let found = nix::sys::stat::fstat(&fd).map_err(|_| libc::EBADF)?;
    Ok((found.st_dev, found.st_ino))
}
