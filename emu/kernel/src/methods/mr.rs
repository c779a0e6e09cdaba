//! Memory regions.

use super::{CORE_IN, CORE_OUT, Client, announce, needs_room, number32, optional32, words};
use crate::ioctl::{Call, DRIVER, u32_at, u64_at};
use crate::object::{More, Object, Space, Type};
use crate::ufile::Ufile;
use crate::wire::Answer;

/// ib_user_ioctl_verbs.h, enum ib_uverbs_access_flags.
const LOCAL_WRITE: u32 = 1;
const REMOTE_WRITE: u32 = 1 << 1;
const REMOTE_ATOMIC: u32 = 1 << 3;
const ON_DEMAND: u32 = 1 << 6;
const OPTIONAL: u32 = 0x3ff0_0000;
const SUPPORTED: u32 = 0xbf | OPTIONAL;

/// What a registration asks for.
struct Wish {
    pd: u32,
    length: u64,
    iova: u64,
    access: u32,
}

fn check_access(access: u32) -> Answer<()> {
    if access & ON_DEMAND != 0 {
        return Err(libc::EOPNOTSUPP);
    }
    let writes_unasked = access & (REMOTE_WRITE | REMOTE_ATOMIC) != 0 && access & LOCAL_WRITE == 0;
    if access & !SUPPORTED != 0 || writes_unasked { Err(libc::EINVAL) } else { Ok(()) }
}

/// Pins a region's memory, which there must be some of.
fn pin(client: &Client, call: &Call<'_>, address: u64, length: u64, access: u32) -> Answer<u64> {
    if length == 0 {
        return Err(libc::EINVAL);
    }
    super::pin(client, call, address, length, access & LOCAL_WRITE != 0)
}

/// A memory region with a key of its own.
fn create(client: &Client, wish: &Wish, uses: &[(u32, Type)], pinned: u64) -> Answer<(u32, u32)> {
    client.with_context(|device, ufile| {
        ufile.find_all(uses)?;
        let index = device.new_number(Space::Key)?;
        let range = More::Range { length: wish.length, iova: wish.iova, access: wish.access };
        let region = Object::new(Type::Mr).numbered(Space::Key, index).using(uses).pinning(pinned).with(range);
        Ok((ufile.add(region), key(index)))
    })
}

/// lkey and rkey.
pub fn key(index: u32) -> u32 {
    index << 8
}

/// IB_USER_VERBS_CMD_REG_MR: response, start, length, hca_va, pd_handle, access_flags.
pub fn register(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_room(call, CORE_OUT, 12)?;
    let input = call.input(CORE_IN)?;
    let (start, length, iova) = (u64_at(&input, 8), u64_at(&input, 16), u64_at(&input, 24));
    let wish = Wish { pd: u32_at(&input, 32), length, iova, access: u32_at(&input, 36) };
    if start & 0xfff != iova & 0xfff {
        return Err(libc::EINVAL);
    }
    check_access(wish.access)?;
    client.with_context(|_, ufile| ufile.find(wish.pd, Type::Pd).map(drop))?;
    let pinned = pin(client, call, start, length, wish.access)?;
    let (handle, key) = create(client, &wish, &[(wish.pd, Type::Pd)], pinned)?;
    call.output(CORE_OUT, &words(&[handle, key, key]));
    announce(client, call, handle, Type::Mr)
}

/// UVERBS_METHOD_REG_MR.
pub fn register_ex(client: &Client, call: &Call<'_>) -> Answer<()> {
    if call.has(2) {
        // No DMA handles here.
        return Err(libc::EOPNOTSUPP);
    }
    let wish = Wish { pd: call.handle(1)?, length: call.number(5)?, iova: call.number(3)?, access: number32(call, 6)? };
    check_access(wish.access)?;
    client.with_context(|_, ufile| ufile.find(wish.pd, Type::Pd).map(drop))?;
    let pinned = if call.has(7) {
        super::umem::check_dmabuf(call, 7, call.number(8)?, wish.length)?;
        0
    } else {
        pin(client, call, call.number(4)?, wish.length, wish.access)?
    };
    made(client, call, &wish, pinned, [0, 9, 10])
}

/// UVERBS_METHOD_REG_DMABUF_MR.
pub fn register_dmabuf(client: &Client, call: &Call<'_>) -> Answer<()> {
    let wish = Wish { pd: call.handle(1)?, length: call.number(3)?, iova: call.number(4)?, access: number32(call, 6)? };
    if optional32(call, DRIVER)? != 0 {
        // No data-direct path to the memory.
        return Err(libc::EOPNOTSUPP);
    }
    check_access(wish.access)?;
    client.with_context(|_, ufile| ufile.find(wish.pd, Type::Pd).map(drop))?;
    super::umem::check_dmabuf(call, 5, call.number(2)?, wish.length)?;
    made(client, call, &wish, 0, [0, 7, 8])
}

/// UVERBS_METHOD_DM_MR_REG: a region of device memory, which begins at address 0.
pub fn register_dm(client: &Client, call: &Call<'_>) -> Answer<()> {
    const ZERO_BASED: u32 = 1 << 5;
    let (pd, dm) = (call.handle(3)?, call.handle(5)?);
    let (offset, length, access) = (call.number(1)?, call.number(2)?, number32(call, 4)?);
    let size = client.with_context(|_, ufile| {
        ufile.find(pd, Type::Pd)?;
        match ufile.find(dm, Type::Dm)?.more {
            More::Mapped { length, .. } => Ok(length),
            _ => Err(libc::EINVAL),
        }
    })?;
    check_access(access)?;
    if access & ZERO_BASED == 0 || offset.checked_add(length).is_none_or(|end| end > size) {
        return Err(libc::EINVAL);
    }
    let wish = Wish { pd, length, iova: 0, access };
    let (handle, key) = create(client, &wish, &[(pd, Type::Pd), (dm, Type::Dm)], 0)?;
    told(client, call, (handle, key), [0, 6, 7])
}

fn made(client: &Client, call: &Call<'_>, wish: &Wish, pinned: u64, ids: [u16; 3]) -> Answer<()> {
    let made = create(client, wish, &[(wish.pd, Type::Pd)], pinned)?;
    told(client, call, made, ids)
}

/// Tells of a region by attributes: its handle and its keys.
fn told(client: &Client, call: &Call<'_>, made: (u32, u32), [handle_id, lkey, rkey]: [u16; 3]) -> Answer<()> {
    let (handle, key) = made;
    call.new_handle(handle_id, handle)?;
    call.output(lkey, &key.to_ne_bytes());
    call.output(rkey, &key.to_ne_bytes());
    announce(client, call, handle, Type::Mr)
}

/// IB_USER_VERBS_CMD_REREG_MR: response, mr_handle, flags, start, length, hca_va, pd_handle, access_flags.
pub fn reregister(client: &Client, call: &Call<'_>) -> Answer<()> {
    const TRANSLATION: u32 = 1;
    const CHANGE_PD: u32 = 2;
    const ACCESS: u32 = 4;
    needs_room(call, CORE_OUT, 8)?;
    let input = call.input(CORE_IN)?;
    let (handle, flags) = (u32_at(&input, 8), u32_at(&input, 12));
    let (start, length, iova) = (u64_at(&input, 16), u64_at(&input, 24), u64_at(&input, 32));
    let (pd, access) = (u32_at(&input, 40), u32_at(&input, 44));
    if flags == 0 || flags & !(TRANSLATION | CHANGE_PD | ACCESS) != 0 {
        return Err(libc::EINVAL);
    }
    let (old, index) = client.with_context(|_, ufile| changeable(ufile, handle))?;
    let access = if flags & ACCESS != 0 { access } else { old.access };
    check_access(access)?;
    let mut new = Wish { pd: if flags & CHANGE_PD != 0 { pd } else { old.pd }, access, ..old };
    let mut pinned = None;
    if flags & TRANSLATION != 0 {
        (new.length, new.iova) = (length, iova);
        pinned = Some(pin(client, call, start, length, access)?);
    }
    client.with_context(|_, ufile| {
        changeable(ufile, handle)?;
        ufile.find(new.pd, Type::Pd)?;
        *ufile.change(handle, Type::Mr)? = More::Range { length: new.length, iova: new.iova, access };
        ufile.set_uses(handle, &[new.pd]);
        pinned.into_iter().for_each(|bytes| ufile.set_pinned(handle, bytes));
        Ok(())
    })?;
    call.output(CORE_OUT, &words(&[key(index), key(index)]));
    call.flush()
}

/// What a region is now. One of device memory stays what it is.
fn changeable(ufile: &Ufile, handle: u32) -> Answer<(Wish, u32)> {
    let region = ufile.find(handle, Type::Mr)?;
    match (&region.more, &region.uses[..], region.number) {
        (&More::Range { length, iova, access }, &[pd], Some((_, index))) => {
            Ok((Wish { pd, length, iova, access }, index))
        }
        _ => Err(libc::EINVAL),
    }
}

/// UVERBS_METHOD_QUERY_MR: what import_mr asks.
pub fn query(client: &Client, call: &Call<'_>) -> Answer<()> {
    let handle = call.handle(0)?;
    let (key, length, iova) = client.with_handles(|_, ufile| {
        let region = ufile.find(handle, Type::Mr)?;
        let key = region.number.map_or(0, |(_, index)| key(index));
        match region.more {
            More::Range { length, iova, .. } => Ok((key, length, iova)),
            _ => Err(libc::EINVAL),
        }
    })?;
    call.output(1, &key.to_ne_bytes());
    call.output(2, &key.to_ne_bytes());
    call.output(3, &length.to_ne_bytes());
    call.output(4, &iova.to_ne_bytes());
    call.flush()
}

/// IB_USER_VERBS_CMD_ALLOC_MW: response, pd_handle, mw_type.
pub fn allocate_window(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_room(call, CORE_OUT, 8)?;
    let input = call.input(CORE_IN)?;
    let (pd, kind) = (u32_at(&input, 8), u32_at(&input, 12) & 0xff);
    if ![1, 2].contains(&kind) {
        return Err(libc::EINVAL);
    }
    let (handle, index) = client.with_context(|device, ufile| {
        ufile.find(pd, Type::Pd)?;
        let index = device.new_number(Space::Key)?;
        Ok((ufile.add(Object::new(Type::Mw).numbered(Space::Key, index).using(&[(pd, Type::Pd)])), index))
    })?;
    call.output(CORE_OUT, &words(&[handle, key(index)]));
    announce(client, call, handle, Type::Mw)
}
