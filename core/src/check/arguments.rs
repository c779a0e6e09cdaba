//! Why a UMEM registration failed: the first argument that explains the errno.

use super::{Fault, errno};
use crate::rules::{Rule, Severity};

/// The arguments of `mlx5dv_devx_umem_reg` or `_reg_ex`.
#[derive(Clone, Copy, Debug)]
pub struct Registration {
    /// Start of the buffer; the offset into the dmabuf where one is given.
    pub addr: u64,
    /// Bytes.
    pub size: u64,
    /// `enum ibv_access_flags`.
    pub access: u32,
    /// `reg_ex` only: the page sizes that the caller can live with.
    pub pgsz_bitmap: Option<u64>,
    /// `reg_ex` only.
    pub comp_mask: u64,
    /// The dmabuf, where `comp_mask` says that there is one.
    pub dmabuf_fd: Option<i32>,
}

/// What the explanation asks of the process.
pub trait World {
    /// Every page of the range is mapped. Changes nothing.
    fn is_mapped(&self, addr: u64, size: u64) -> bool;
    /// The descriptor is open and is a dmabuf, and then its size in bytes.
    fn dmabuf_size(&self, fd: i32) -> Option<u64>;
    /// Bytes in a page.
    fn page_size(&self) -> u64;
}

const MASK_DMABUF: u64 = 1;
/// IBV_ACCESS_LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ (verbs.h): what the kernel takes for a UMEM.
const LOCAL_WRITE: u32 = 1;
const REMOTE_WRITE: u32 = 2;
const REMOTE_READ: u32 = 4;

/// Explains a registration that failed with `error`. None: nothing here explains it (`registration-failed`).
pub fn registration(args: &Registration, error: i32, world: &impl World) -> Option<Fault> {
    let rule = match error {
        errno::EOPNOTSUPP if args.comp_mask & !MASK_DMABUF != 0 => Rule::UmemCompMask,
        errno::EBADF if args.dmabuf_fd.is_some() => Rule::UmemDmabufFd,
        errno::EFAULT if args.dmabuf_fd.is_none() && !wraps(args) && !world.is_mapped(args.addr, args.size) => {
            Rule::UmemMemoryUnmapped
        }
        errno::EINVAL => invalid(args, world)?,
        // What a wrapping range is answered differs between kernels.
        _ if wraps(args) && error != errno::ENOMEM => Rule::UmemRangeWraps,
        _ => return None,
    };
    Some(Fault::forwarded(rule, Severity::Warning))
}

fn wraps(args: &Registration) -> bool {
    args.size != 0 && args.addr.checked_add(args.size).is_none()
}

fn invalid(args: &Registration, world: &impl World) -> Option<Rule> {
    if args.size == 0 {
        return Some(Rule::UmemSizeZero);
    }
    if let Some(fd) = args.dmabuf_fd {
        match world.dmabuf_size(fd) {
            None => return Some(Rule::UmemDmabufFd),
            Some(size) if args.addr.checked_add(args.size).is_none_or(|end| end > size) => {
                return Some(Rule::UmemDmabufOffset);
            }
            Some(_) => {}
        }
    } else if wraps(args) {
        return Some(Rule::UmemRangeWraps);
    }
    if args.access & REMOTE_WRITE != 0 && args.access & LOCAL_WRITE == 0
        || args.access & !(LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ) != 0
    {
        return Some(Rule::UmemAccessBits);
    }
    match args.pgsz_bitmap {
        Some(bitmap) if bitmap & usable_page_sizes(args, world.page_size()) == 0 => Some(Rule::UmemPgszBitmap),
        _ => None,
    }
}

/// The kernel's own test: 4 KiB up to the larger of a page and the size rounded up to a power of two.
fn usable_page_sizes(args: &Registration, page: u64) -> u64 {
    let largest = args.size.checked_next_power_of_two().unwrap_or(1 << 63).max(page);
    let up_to_largest = (largest - 1) | largest;
    up_to_largest & !0xfff
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain {
        mapped: bool,
        dmabuf: Option<u64>,
    }

    impl World for Plain {
        fn is_mapped(&self, _: u64, _: u64) -> bool {
            self.mapped
        }
        fn dmabuf_size(&self, _: i32) -> Option<u64> {
            self.dmabuf
        }
        fn page_size(&self) -> u64 {
            4096
        }
    }

    const WORLD: Plain = Plain { mapped: true, dmabuf: Some(8192) };
    const GOOD: Registration =
        Registration { addr: 0x10000, size: 4096, access: 1, pgsz_bitmap: None, comp_mask: 0, dmabuf_fd: None };

    fn why(args: Registration, error: i32) -> Option<Rule> {
        registration(&args, error, &WORLD).map(|fault| fault.rule)
    }

    #[test]
    fn good_arguments_explain_nothing() {
        for error in [errno::EINVAL, errno::EFAULT, errno::ENOMEM, errno::EOPNOTSUPP, errno::EBADF] {
            assert_eq!(why(GOOD, error), None);
        }
    }

    #[test]
    fn each_argument_explains_its_errno_and_no_other() {
        let zero = Registration { size: 0, ..GOOD };
        assert_eq!(why(zero, errno::EINVAL), Some(Rule::UmemSizeZero));
        assert_eq!(why(zero, errno::ENOMEM), None);
        let wrapping = Registration { addr: u64::MAX - 4095, size: 8192, ..GOOD };
        assert_eq!(why(wrapping, errno::EINVAL), Some(Rule::UmemRangeWraps));
        assert_eq!(why(wrapping, errno::EFAULT), Some(Rule::UmemRangeWraps), "and not unmapped");
        let mask = Registration { comp_mask: 2, ..GOOD };
        assert_eq!(why(mask, errno::EOPNOTSUPP), Some(Rule::UmemCompMask));
        let bits = Registration { access: 2, ..GOOD };
        assert_eq!(why(bits, errno::EINVAL), Some(Rule::UmemAccessBits));
        assert_eq!(why(Registration { access: 1 << 25, ..GOOD }, errno::EINVAL), Some(Rule::UmemAccessBits));
    }

    #[test]
    fn unmapped_memory_is_looked_at_only_on_efault() {
        let unmapped = Plain { mapped: false, dmabuf: None };
        let rule = |error| registration(&GOOD, error, &unmapped).map(|fault| fault.rule);
        assert_eq!(rule(errno::EFAULT), Some(Rule::UmemMemoryUnmapped));
        assert_eq!(rule(errno::EINVAL), None);
    }

    #[test]
    fn a_dmabuf_is_judged_by_descriptor_and_offset() {
        let dmabuf = Registration { addr: 0, comp_mask: 1, dmabuf_fd: Some(5), ..GOOD };
        assert_eq!(why(dmabuf, errno::EINVAL), None);
        assert_eq!(why(dmabuf, errno::EBADF), Some(Rule::UmemDmabufFd));
        let address = Registration { addr: 0x7fff_0000_0000, ..dmabuf };
        assert_eq!(why(address, errno::EINVAL), Some(Rule::UmemDmabufOffset));
        let not_one = Plain { mapped: true, dmabuf: None };
        assert_eq!(registration(&dmabuf, errno::EINVAL, &not_one).unwrap().rule, Rule::UmemDmabufFd);
    }

    #[test]
    fn page_sizes_are_those_the_kernel_takes() {
        let with = |bitmap, size| why(Registration { pgsz_bitmap: Some(bitmap), size, ..GOOD }, errno::EINVAL);
        assert_eq!(with(4096, 8), None);
        assert_eq!(with(2048, 8), Some(Rule::UmemPgszBitmap));
        assert_eq!(with(8192, 4096), Some(Rule::UmemPgszBitmap));
        assert_eq!(with(8192, 4097), None);
        assert_eq!(with(u64::MAX, 1), None);
        assert_eq!(with(0, 1), Some(Rule::UmemPgszBitmap));
    }
}
