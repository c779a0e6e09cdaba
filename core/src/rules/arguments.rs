//! What there is to say about the rules on arguments.

use super::Rule;
use super::text::{Guard, Text};

const AFTER: Guard = Guard::After;

pub(super) const TEXTS: &[Text] = &[
    Text {
        rule: Rule::UmemSizeZero,
        what: "A UMEM registration failed, and its size is 0.",
        why: "The kernel takes no empty range.",
        guard: AFTER,
        words: None,
        example: "mlx5dv_devx_umem_reg(ctx, buf, 0, 0);  /* EINVAL: umem-size-zero */",
        fix: "Register at least one byte. Small and unaligned buffers are fine.",
    },
    Text {
        rule: Rule::UmemRangeWraps,
        what: "A UMEM registration failed, and its address plus its size goes past the end of the address space.",
        why: "Mostly a negative number that became a huge size.",
        guard: AFTER,
        words: None,
        example: "mlx5dv_devx_umem_reg(ctx, buf, (size_t)-1, 0);  /* umem-range-wraps */",
        fix: "Check how the size is computed.",
    },
    Text {
        rule: Rule::UmemMemoryUnmapped,
        what: "A UMEM registration failed with EFAULT, and part of the range is not mapped, or is not writable where \
               local write was asked for.",
        why: "The kernel pins the pages, so all of them have to be there with the rights that the access flags need.",
        guard: AFTER,
        words: None,
        example: "void *buf = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n\
                  mlx5dv_devx_umem_reg(ctx, buf, len, IBV_ACCESS_LOCAL_WRITE);  /* umem-memory-unmapped */",
        fix: "Register memory while it is mapped, and no more of it than is; map it writable for local write.",
    },
    Text {
        rule: Rule::UmemDmabufFd,
        what: "mlx5dv_devx_umem_reg_ex() failed, MLX5DV_UMEM_MASK_DMABUF is set, and dmabuf_fd is no dmabuf.",
        why: "The descriptor is closed, or is a file of another kind.",
        guard: AFTER,
        words: Some("If MLX5DV_UMEM_MASK_DMABUF is set in comp_mask then this value must be a FD of a dmabuf."),
        example: "in.comp_mask = MLX5DV_UMEM_MASK_DMABUF;\nin.dmabuf_fd = -1;\n\
                  mlx5dv_devx_umem_reg_ex(ctx, &in);  /* EBADF: umem-dmabuf-fd */",
        fix: "Pass the descriptor that the exporting driver gave, and keep it open until the registration is done. It \
              may be closed right after.",
    },
    Text {
        rule: Rule::UmemDmabufOffset,
        what: "mlx5dv_devx_umem_reg_ex() with a dmabuf failed, and addr looks like an address.",
        why: "With a dmabuf, addr is an offset into it, and an address is far behind its end.",
        guard: AFTER,
        words: Some("addr is interpreted as the starting offset of the dmabuf."),
        example: "in.comp_mask = MLX5DV_UMEM_MASK_DMABUF;\nin.addr = buf;  /* an offset belongs here */\n\
                  mlx5dv_devx_umem_reg_ex(ctx, &in);  /* umem-dmabuf-offset */",
        fix: "Set addr to the offset: 0 for the whole dmabuf.",
    },
    Text {
        rule: Rule::UmemCompMask,
        what: "mlx5dv_devx_umem_reg_ex() failed, and comp_mask holds bits that the library does not know.",
        why: "Either the struct was not set to zero first, or the program was compiled for a newer library than it runs \
              on.",
        guard: AFTER,
        words: Some("Flags indicating the additional fields."),
        example: "struct mlx5dv_devx_umem_in in;  /* not initialised */\nin.addr = buf;\nin.size = len;\n\
                  mlx5dv_devx_umem_reg_ex(ctx, &in);  /* EOPNOTSUPP: umem-comp-mask */",
        fix: "Initialise the struct: struct mlx5dv_devx_umem_in in = {0};",
    },
    Text {
        rule: Rule::UmemPgszBitmap,
        what: "mlx5dv_devx_umem_reg_ex() failed, and pgsz_bitmap allows no page size that the kernel could take: none \
               from 4 KiB to the larger of a page and the size rounded up to a power of two.",
        why: "Each bit stands for a page size, bit 12 for 4 KiB; a page size itself, or a shift, is a common mistake.",
        guard: AFTER,
        words: Some("umem creation will fail if it cannot be created with these page sizes."),
        example: "in.pgsz_bitmap = 12;  /* means 4 and 8 bytes; 1ULL << 12 was meant */\n\
                  mlx5dv_devx_umem_reg_ex(ctx, &in);  /* umem-pgsz-bitmap */",
        fix: "Give the OR of all page sizes that you can use, in bytes; UINT64_MAX & ~4095ULL leaves it to the kernel.",
    },
    Text {
        rule: Rule::UmemAccessBits,
        what: "A UMEM registration failed with EINVAL, and its access flags ask for remote write or remote atomic \
               without local write, or hold bits that the kernel refused.",
        why: "What others may write through the device, the device must be able to write here.",
        guard: AFTER,
        words: Some(
            "The desired memory protection attributes; it is either 0 or the bitwise OR of one or more of enum \
                     ibv_access_flags.",
        ),
        example: "mlx5dv_devx_umem_reg(ctx, buf, len, IBV_ACCESS_REMOTE_WRITE);  /* umem-access-bits */",
        fix: "Add IBV_ACCESS_LOCAL_WRITE. Access 0 is fine for memory that the device only reads.",
    },
    Text {
        rule: Rule::RegistrationFailed,
        what: "A registration failed, and none of the other rules explains it. A note with a count for each errno.",
        why: "Many programs try one kind of registration after the other, so a failure alone says little. For ENOMEM \
              the report adds the live registrations and the limits that may have been reached.",
        guard: AFTER,
        words: Some("on error NULL will be returned and errno will be set."),
        example: "mlx5dv_devx_umem_reg(ctx, buf, 1UL << 40, 0);  /* ENOMEM: registration-failed */",
        fix: "For ENOMEM look at ulimit -l (RLIMIT_MEMLOCK) and at vm.max_map_count.",
    },
    Text {
        rule: Rule::ProviderLacks,
        what: "The program called a function that the real library does not have. A note, once for each function.",
        why: "Exporting and importing UMEMs came with rdma-core 63. verbsguard has these names, so that a look-up finds \
              them; behind them is nothing. The call answers as a provider without support does: NULL or EOPNOTSUPP.",
        guard: Guard::Depends("nothing to forward to"),
        words: None,
        example: "mlx5dv_devx_umem_export(umem, blob);  /* on rdma-core 56: EOPNOTSUPP */",
        fix: "Use rdma-core 63 or later, or treat EOPNOTSUPP as \"cannot be shared\".",
    },
    Text {
        rule: Rule::DeviceGone,
        what: "The device was removed while it was open. A note, once for each device file.",
        why: "From then on creating calls fail with EIO; a destroy answers 0 once and ENOENT after. The objects are \
              gone, so nothing is reported for each of them.",
        guard: AFTER,
        words: Some("IBV_EVENT_DEVICE_FATAL CA is in FATAL state"),
        example: "/* the driver was unbound */\nibv_alloc_pd(ctx);  /* EIO: device-gone */",
        fix: "Watch for IBV_EVENT_DEVICE_FATAL, release what there is, and close the context.",
    },
];
