//! RDMA_VERBS_IOCTL: the header and its attributes (kernel: include/uapi/rdma/rdma_user_ioctl_cmds.h).

use std::cell::RefCell;
use std::os::fd::OwnedFd;

use crate::wire::{Answer, Talk};

/// The objects, methods and attributes that drivers add begin here.
pub const DRIVER: u16 = 0x1000;

const HEADER: usize = 24;
const ATTRIBUTE: usize = 16;
const DRIVER_MLX5: u32 = 1;
const MANDATORY: u16 = 1;
const VALID_OUTPUT: u16 = 2;

/// One attribute.
#[derive(Clone, Copy, Debug)]
struct Attribute {
    id: u16,
    len: u16,
    flags: u16,
    data: u64,
    /// Where it stands in the program's memory.
    address: u64,
}

/// A descriptor to send along, and where its number goes: an address, and how many bytes of it.
pub struct Sent {
    /// The descriptor.
    pub fd: OwnedFd,
    /// Where in the program its number is stored.
    pub store: u64,
    /// How many bytes the number has there.
    pub size: u64,
}

/// One call, with its attributes.
pub struct Call<'a> {
    /// Which object type.
    pub object: u16,
    /// Which method of it.
    pub method: u16,
    talk: &'a Talk,
    attributes: Vec<Attribute>,
    is_well_formed: bool,
    outputs: RefCell<Vec<(u64, Vec<u8>)>>,
    descriptor: RefCell<Option<Sent>>,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |bytes| u16::from_ne_bytes([bytes[0], bytes[1]]))
}

/// A little number somewhere in a struct; 0 past its end.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

/// A big number somewhere in a struct; 0 past its end.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

impl<'a> Call<'a> {
    /// Reads header and attributes, which stand at `address` in the program.
    pub fn parse(talk: &'a Talk, address: u64, bytes: &[u8]) -> Answer<Self> {
        let length = usize::from(u16_at(bytes, 0));
        let count = usize::from(u16_at(bytes, 6));
        if bytes.len() < HEADER || length != HEADER + count * ATTRIBUTE || length > bytes.len() {
            return Err(libc::EINVAL);
        }
        if u64_at(bytes, 8) != 0 || u32_at(bytes, 20) != 0 {
            return Err(libc::EPROTONOSUPPORT);
        }
        if u32_at(bytes, 16) != DRIVER_MLX5 {
            return Err(libc::EINVAL);
        }
        let mut attributes: Vec<Attribute> = Vec::with_capacity(count);
        let mut is_well_formed = true;
        for index in 0..count {
            let at = HEADER + index * ATTRIBUTE;
            let attribute = Attribute {
                id: u16_at(bytes, at),
                len: u16_at(bytes, at + 2),
                flags: u16_at(bytes, at + 4),
                data: u64_at(bytes, at + 8),
                address: address + at as u64,
            };
            // Unknown bits in the flags are ignored; the reserved word is not.
            let is_repeated = attributes.iter().any(|known| known.id == attribute.id);
            is_well_formed &= u16_at(bytes, at + 6) == 0 && !is_repeated;
            attributes.push(attribute);
        }
        Ok(Call {
            object: u16_at(bytes, 2),
            method: u16_at(bytes, 4),
            talk,
            attributes,
            is_well_formed,
            outputs: RefCell::default(),
            descriptor: RefCell::default(),
        })
    }

    /// Refuses attributes that are repeated, or fill the reserved word. The kernel looks at them when it knows the method:
    /// the word means something to a method that we may not have.
    pub fn well_formed(&self) -> Answer<()> {
        if self.is_well_formed { Ok(()) } else { Err(libc::EINVAL) }
    }

    /// The same, and mandatory attributes that the method does not know.
    pub fn knows(&self, known: &[u16]) -> Answer<()> {
        self.well_formed()?;
        let unknown = |attribute: &&Attribute| attribute.flags & MANDATORY != 0 && !known.contains(&attribute.id);
        if self.attributes.iter().any(|attribute| unknown(&attribute)) { Err(libc::EPROTONOSUPPORT) } else { Ok(()) }
    }

    /// The conversation, for what is not an attribute.
    pub fn talk(&self) -> &Talk {
        self.talk
    }

    fn find(&self, id: u16) -> Answer<Attribute> {
        self.attributes.iter().copied().find(|attribute| attribute.id == id).ok_or(libc::EINVAL)
    }

    /// Whether an optional attribute is there.
    pub fn has(&self, id: u16) -> bool {
        self.find(id).is_ok()
    }

    /// The bytes of an input; up to 8 stand in the attribute itself.
    pub fn input(&self, id: u16) -> Answer<Vec<u8>> {
        let attribute = self.find(id)?;
        let length = usize::from(attribute.len);
        if length <= 8 {
            return Ok(attribute.data.to_ne_bytes()[..length].to_vec());
        }
        self.talk.read(attribute.data, length)
    }

    /// An input that a driver may leave out.
    pub fn optional_input(&self, id: u16) -> Answer<Vec<u8>> {
        if self.has(id) { self.input(id) } else { Ok(Vec::new()) }
    }

    /// A number as input, of as many bytes as it has.
    pub fn number(&self, id: u16) -> Answer<u64> {
        let bytes = self.input(id)?;
        let mut whole = [0; 8];
        whole.get_mut(..bytes.len()).ok_or(libc::EINVAL)?.copy_from_slice(&bytes);
        Ok(u64::from_ne_bytes(whole))
    }

    /// A handle as input.
    pub fn handle(&self, id: u16) -> Answer<u32> {
        let attribute = self.find(id)?;
        if attribute.len != 0 {
            return Err(libc::EINVAL);
        }
        u32::try_from(attribute.data).map_err(|_| libc::ENOENT)
    }

    /// Refuses an output that is missing or not of this size.
    pub fn wants(&self, id: u16, size: usize) -> Answer<()> {
        if usize::from(self.find(id)?.len) == size { Ok(()) } else { Err(libc::EINVAL) }
    }

    /// A descriptor as input.
    pub fn fd(&self, id: u16) -> Answer<OwnedFd> {
        self.talk.descriptor(self.find(id)?.data.cast_signed())
    }

    /// How many bytes an output has; 0 where it is not asked for.
    pub fn room(&self, id: u16) -> usize {
        self.find(id).map_or(0, |attribute| usize::from(attribute.len))
    }

    /// Gives an output, cut or filled with zeros to the room there is. Nothing where it is not asked for.
    pub fn output(&self, id: u16, bytes: &[u8]) {
        let Ok(attribute) = self.find(id) else { return };
        let mut bytes = bytes.to_vec();
        bytes.resize(usize::from(attribute.len), 0);
        let mut outputs = self.outputs.borrow_mut();
        if attribute.data != 0 {
            outputs.push((attribute.data, bytes));
            outputs.push((attribute.address + 4, (attribute.flags | VALID_OUTPUT).to_ne_bytes().to_vec()));
        }
    }

    /// Gives a handle, which stands in the attribute itself.
    pub fn new_handle(&self, id: u16, handle: u32) -> Answer<()> {
        let attribute = self.find(id)?;
        self.outputs.borrow_mut().push((attribute.address + 8, u64::from(handle).to_ne_bytes().to_vec()));
        Ok(())
    }

    /// Gives a descriptor, whose number stands in the attribute itself.
    pub fn new_fd(&self, id: u16, fd: OwnedFd) -> Answer<()> {
        let attribute = self.find(id)?;
        *self.descriptor.borrow_mut() = Some(Sent { fd, store: attribute.address + 8, size: 8 });
        Ok(())
    }

    /// Gives a descriptor, whose number is the first field of an output struct.
    pub fn output_fd(&self, id: u16, fd: OwnedFd) -> Answer<()> {
        let attribute = self.find(id)?;
        *self.descriptor.borrow_mut() = Some(Sent { fd, store: attribute.data, size: 4 });
        Ok(())
    }

    /// copy_to_user of all outputs.
    pub fn flush(&self) -> Answer<()> {
        let outputs = self.outputs.borrow();
        let places: Vec<_> = outputs.iter().map(|(address, bytes)| (*address, bytes.as_slice())).collect();
        self.talk.write(&places)
    }

    /// The descriptor to send along.
    pub fn take_fd(&self) -> Option<Sent> {
        self.descriptor.borrow_mut().take()
    }
}
