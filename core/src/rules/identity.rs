//! What there is to say about the rules on identity.

use super::Rule;
use super::text::{Guard, Text};

const VALID_HANDLE: &str =
    "The input pd_handle value must be a valid kernel handle for a PD object in the given context.";
const FILLED_BEFORE: &str = "The data buffer must have been previously filled by mlx5dv_devx_umem_export().";
const SAME_RESOURCES: &str = "The context can be the original UMEM registering context or any context sharing the same \
                              kernel resources (e.g., via ibv_import_device()).";

pub(super) const TEXTS: &[Text] = &[
    Text {
        rule: Rule::PdHandleStale,
        what: "ibv_import_pd() failed, and this device file's record shows a PD of that handle and its end.",
        why: "The PD was destroyed before it was imported; the report names by whom. Had the number been given out \
              again, the import would have succeeded on another PD.",
        guard: Guard::After,
        words: Some(VALID_HANDLE),
        example: "/* owner */     send(handle); ibv_dealloc_pd(pd);\n\
                  /* importer */  ibv_import_pd(ctx, handle);  /* ENOENT: pd-handle-stale */",
        fix: "Let the importer say that it has imported before the owner may destroy.",
    },
    Text {
        rule: Rule::PdHandleForeign,
        what: "ibv_import_pd() failed: the handle is no PD in this context's device file, but it is a live PD of \
               another one.",
        why: "A handle is a number in one device file. Every ibv_open_device() makes a device file of its own, also for \
              the same device, so the number means nothing there, or something else.",
        guard: Guard::After,
        words: Some(VALID_HANDLE),
        example: "struct ibv_context *mine = ibv_open_device(dev);  /* not the owner's device file */\n\
                  ibv_import_pd(mine, handle);                       /* pd-handle-foreign */",
        fix: "Send the owner's cmd_fd over a Unix socket (SCM_RIGHTS), make a context of it with ibv_import_device(), \
              and import the PD there.",
    },
    Text {
        rule: Rule::PdHandleIsPdn,
        what: "ibv_import_pd() failed, and the number equals the pdn of a live PD in this device file.",
        why: "The pdn, from mlx5dv_init_obj(), is the device's number for the PD. The import needs the kernel's handle.",
        guard: Guard::After,
        words: Some("It can be achieved from the original PD by getting its ibv_pd->handle member value."),
        example: "mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD);\nsend(dv_pd.pdn);  /* the importer gets pd-handle-is-pdn */",
        fix: "Send pd->handle.",
    },
    Text {
        rule: Rule::PdHandleMismatch,
        what: "ibv_import_pd() succeeded, but the pdn of what came back differs from the one recorded for this handle.",
        why: "The handle was given out again between the two, or the context belongs to another device file than it is \
              thought to: what was imported is another PD.",
        guard: Guard::After,
        words: Some(VALID_HANDLE),
        example: "/* owner */     ibv_dealloc_pd(pd); other = ibv_alloc_pd(ctx);  /* the same number */\n\
                  /* importer */  ibv_import_pd(ctx, handle);                     /* another PD */",
        fix: "Let the owner keep the PD until all importers have it.",
    },
    Text {
        rule: Rule::UmemBlobForeign,
        what: "The exported attributes name no UMEM of this context's device file, and are a live export of another \
               one. A note where not all holders of the device file are guarded.",
        why: "The import copies the numbers and cannot fail, on whatever context. The first call that fails is a later \
              one: a dereg answers ENOENT, or deregisters another UMEM.",
        guard: Guard::Forwarded,
        words: Some(SAME_RESOURCES),
        example: "struct ibv_context *mine = ibv_open_device(dev);  /* not the owner's device file */\n\
                  mlx5dv_devx_umem_import(mine, blob);              /* umem-blob-foreign */",
        fix: "Make the context from the owner's cmd_fd: SCM_RIGHTS, then ibv_import_device().",
    },
    Text {
        rule: Rule::UmemBlobStale,
        what: "The exported attributes are of a UMEM that was deregistered; or the handle belongs to a newer UMEM, \
               which has another umem id or was never exported. A note where not all holders are guarded.",
        why: "The import copies the numbers and cannot fail. What it makes is a reference to nothing, or to a UMEM that \
              nobody meant to share.",
        guard: Guard::Forwarded,
        words: Some(FILLED_BEFORE),
        example: "mlx5dv_devx_umem_export(umem, blob);\nmlx5dv_devx_umem_dereg(umem);\n\
                  mlx5dv_devx_umem_import(ctx, blob);  /* umem-blob-stale */",
        fix: "Let the importer say that it has imported before the owner may deregister.",
    },
    Text {
        rule: Rule::UmemBlobForged,
        what: "No process exported these attributes. A note where not all holders of the device file are guarded.",
        why: "The buffer was never filled, was damaged on its way, or was made by hand. Any bytes import without an \
              error.",
        guard: Guard::Forwarded,
        words: Some(FILLED_BEFORE),
        example: "char blob[8] = {0};\nmlx5dv_devx_umem_import(ctx, blob);  /* umem-blob-forged */",
        fix: "Look at the result of the export, send all devx_umem_attrs_size bytes, and check how many arrived.",
    },
    Text {
        rule: Rule::UmemOnVfio,
        what: "A UMEM is exported from, or imported into, a VFIO context.",
        why: "libmlx5 does not ask which kind of context it has: it reads a struct of another layout, so the numbers \
              are wrong. A VFIO context has no kernel objects that could be shared.",
        guard: Guard::Forwarded,
        words: None,
        example: "list = mlx5dv_get_vfio_device_list(&attr);\nctx = ibv_open_device(list[0]);\n\
                  umem = mlx5dv_devx_umem_reg(ctx, buf, len, 0);\nmlx5dv_devx_umem_export(umem, blob);  /* umem-on-vfio */",
        fix: "Share UMEMs on devices that the kernel's driver serves.",
    },
    Text {
        rule: Rule::ImportOfOwn,
        what: "A context imports an object that it made itself. A note: this is legal.",
        why: "It works, and gives a second reference with a life of its own; often it shows that a program took its own \
              message for another's.",
        guard: Guard::Forwarded,
        words: None,
        example: "struct ibv_pd *pd = ibv_alloc_pd(ctx);\nibv_import_pd(ctx, pd->handle);  /* import-of-own */",
        fix: "Nothing to mend, if it is meant.",
    },
];
