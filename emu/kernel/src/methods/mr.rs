//! Memory regions.

use super::{CORE_IN, CORE_OUT, Client, announce, is_countable, needs_room};
use crate::ioctl::{Call, u32_at, u64_at};
use crate::ufile::Kind;
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

/// Pins the memory as the kernel would, before anything is made.
fn pin(client: &Client, call: &Call<'_>, address: u64, length: u64, access: u32) -> Answer<()> {
    if length == 0 || !is_countable(length) || address.checked_add(length).is_none() {
        return Err(libc::EINVAL);
    }
    let pinned = client.with_context(|_, ufile| Ok(ufile.pinned()))?;
    call.talk().pin(address, length, access & LOCAL_WRITE != 0, pinned)
}

fn create(client: &Client, wish: &Wish, pinned: u64) -> Answer<(u32, u32)> {
    client.with_context(|device, ufile| {
        ufile.pd(wish.pd)?;
        let key = device.new_key();
        let handle = ufile.add(Kind::Mr { pd: wish.pd, key, length: wish.length, iova: wish.iova, pinned });
        Ok((handle, key))
    })
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
    client.with_context(|_, ufile| ufile.pd(wish.pd))?;
    pin(client, call, start, length, wish.access)?;
    let (handle, key) = create(client, &wish, length)?;
    let reply: Vec<u8> = [handle, key, key].iter().flat_map(|number| number.to_ne_bytes()).collect();
    call.output(CORE_OUT, &reply);
    announce(client, call, handle)
}

/// UVERBS_METHOD_REG_MR.
pub fn register_ex(client: &Client, call: &Call<'_>) -> Answer<()> {
    if call.has(2) {
        // No DMA handles here.
        return Err(libc::EOPNOTSUPP);
    }
    let wish = Wish { pd: call.handle(1)?, length: call.number(5)?, iova: call.number(3)?, access: number32(call, 6)? };
    check_access(wish.access)?;
    client.with_context(|_, ufile| ufile.pd(wish.pd))?;
    let pinned = if call.has(7) {
        super::umem::check_dmabuf(call, 7, call.number(8)?, wish.length)?;
        0
    } else {
        pin(client, call, call.number(4)?, wish.length, wish.access)?;
        wish.length
    };
    made(client, call, &wish, pinned, [0, 9, 10])
}

/// UVERBS_METHOD_REG_DMABUF_MR.
pub fn register_dmabuf(client: &Client, call: &Call<'_>) -> Answer<()> {
    let wish = Wish { pd: call.handle(1)?, length: call.number(3)?, iova: call.number(4)?, access: number32(call, 6)? };
    check_access(wish.access)?;
    client.with_context(|_, ufile| ufile.pd(wish.pd))?;
    super::umem::check_dmabuf(call, 5, call.number(2)?, wish.length)?;
    made(client, call, &wish, 0, [0, 7, 8])
}

fn made(client: &Client, call: &Call<'_>, wish: &Wish, pinned: u64, [handle_id, lkey, rkey]: [u16; 3]) -> Answer<()> {
    let (handle, key) = create(client, wish, pinned)?;
    call.new_handle(handle_id, handle)?;
    call.output(lkey, &key.to_ne_bytes());
    call.output(rkey, &key.to_ne_bytes());
    announce(client, call, handle)
}

fn number32(call: &Call<'_>, id: u16) -> Answer<u32> {
    u32::try_from(call.number(id)?).map_err(|_| libc::EINVAL)
}

/// IB_USER_VERBS_CMD_REREG_MR: response, mr_handle, flags, start, length, hca_va, pd_handle, access_flags.
pub fn reregister(client: &Client, call: &Call<'_>) -> Answer<()> {
    const TRANSLATION: u32 = 1;
    const CHANGE_PD: u32 = 2;
    const ACCESS: u32 = 4;
    needs_room(call, CORE_OUT, 8)?;
    let input = call.input(CORE_IN)?;
    let (handle, flags) = (u32_at(&input, 8), u32_at(&input, 12));
    let (start, new_length, new_iova) = (u64_at(&input, 16), u64_at(&input, 24), u64_at(&input, 32));
    let (new_pd, access) = (u32_at(&input, 40), u32_at(&input, 44));
    if flags == 0 || flags & !(TRANSLATION | CHANGE_PD | ACCESS) != 0 {
        return Err(libc::EINVAL);
    }
    if flags & ACCESS != 0 {
        check_access(access)?;
    }
    if flags & TRANSLATION != 0 {
        pin(client, call, start, new_length, access)?;
    }
    let key = client.with_context(|_, ufile| {
        if flags & CHANGE_PD != 0 {
            ufile.pd(new_pd)?;
        }
        ufile.change(handle, |object| {
            let Kind::Mr { pd, key, length, iova, pinned } = object else { return Err(libc::EINVAL) };
            if flags & CHANGE_PD != 0 {
                *pd = new_pd;
            }
            if flags & TRANSLATION != 0 {
                (*length, *iova, *pinned) = (new_length, new_iova, new_length);
            }
            Ok(*key)
        })
    })?;
    let reply: Vec<u8> = [key, key].iter().flat_map(|number| number.to_ne_bytes()).collect();
    call.output(CORE_OUT, &reply);
    call.flush()
}

/// UVERBS_METHOD_MR_DESTROY.
pub fn destroy(client: &Client, call: &Call<'_>) -> Answer<()> {
    let handle = call.handle(0)?;
    client.with_handles(|_, ufile| ufile.destroy(handle, |object| matches!(object, Kind::Mr { .. })).map(|_| ()))
}

/// UVERBS_METHOD_QUERY_MR: what import_mr asks.
pub fn query(client: &Client, call: &Call<'_>) -> Answer<()> {
    let handle = call.handle(0)?;
    let (key, length, iova) = client.with_handles(|_, ufile| match ufile.get(handle)? {
        Kind::Mr { key, length, iova, .. } => Ok((*key, *length, *iova)),
        _ => Err(libc::EINVAL),
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
    let (handle, key) = client.with_context(|device, ufile| {
        ufile.pd(pd)?;
        Ok((ufile.add(Kind::Mw { pd }), device.new_key()))
    })?;
    let reply: Vec<u8> = [handle, key].iter().flat_map(|number| number.to_ne_bytes()).collect();
    call.output(CORE_OUT, &reply);
    announce(client, call, handle)
}

/// UVERBS_METHOD_MW_DESTROY.
pub fn destroy_window(client: &Client, call: &Call<'_>) -> Answer<()> {
    let handle = call.handle(0)?;
    client.with_handles(|_, ufile| ufile.destroy(handle, |object| matches!(object, Kind::Mw { .. })).map(|_| ()))
}
