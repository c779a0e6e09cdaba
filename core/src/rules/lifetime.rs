//! What there is to say about the rules on lifetimes.

use super::Rule;
use super::text::{Guard, Text};

const PD_AFTER_DESTROY: &str = "Once destroy is done no other process can touch the object except for unimport.";
const UMEM_AFTER_DEREG: &str = "Once deregistration is done, no other process can use the object except for unimport.";
const PD_ONE_END: &str = "Once the PD usage has been ended ibv_dealloc_pd() or ibv_unimport_pd() should be called.";
const UMEM_ONE_END: &str = "Once the UMEM usage has ended, either mlx5dv_devx_umem_dereg() or \
                            mlx5dv_devx_umem_unimport() should be called.";
const RELEASE_FIRST: &str = "To avoid resource leaks, the user should release all associated resources before closing \
                             a context.";

pub(super) const TEXTS: &[Text] = &[
    Text {
        rule: Rule::NullArgument,
        what: "A pointer that the call dereferences is NULL.",
        why: "Most often an earlier call failed and nobody looked: NULL is how every call of this family says no. The \
              real library would dereference the pointer and crash, far from the call that failed. Two calls bear \
              NULL: mlx5dv_devx_umem_unimport(NULL) frees nothing and is only a note, and mlx5dv_devx_umem_import() \
              never looks at its context, so that the mistake shows later.",
        guard: Guard::Refused("EINVAL"),
        words: None,
        example: "struct ibv_pd *pd = ibv_import_pd(ctx, handle);   /* failed: NULL */\n\
                  struct ibv_mr *mr = ibv_reg_mr(pd, buf, len, 0);  /* null-argument */",
        fix: "Check what the creating call returned, and say what errno says, before you use it.",
    },
    Text {
        rule: Rule::BadPointer,
        what: "The data buffer of a UMEM export is not writable, or that of an import not readable, for as many bytes \
               as the attributes have.",
        why: "The provider copies the attributes without looking, so the program would crash with SIGSEGV inside \
              libmlx5.",
        guard: Guard::Refused("EFAULT"),
        words: Some(
            "The buffer must be allocated by the caller with at least the size returned by \
             mlx5dv_get_export_sizes() in the devx_umem_attrs_size field.",
        ),
        example: "static const char blob[8];\nmlx5dv_devx_umem_export(umem, (void *)blob);  /* read-only memory */",
        fix: "Ask mlx5dv_get_export_sizes() for the size, and give a buffer of your own of that size.",
    },
    Text {
        rule: Rule::ContextClosed,
        what: "A call names a context that was closed, or an object of one.",
        why: "ibv_close_device() frees the context, and every PD, UMEM and MR struct of it points there. The call would \
              read freed memory. Two calls never look at the context and are not meant: the export and the unimport \
              of a UMEM.",
        guard: Guard::Refused("EINVAL"),
        words: Some(RELEASE_FIRST),
        example: "ibv_close_device(ctx);\nibv_dealloc_pd(pd);       /* pd->context is gone */",
        fix: "Release the objects of a context before you close it, in the reverse order of their making.",
    },
    Text {
        rule: Rule::ContextClosedTwice,
        what: "ibv_close_device() is called with a context that is closed already.",
        why: "The second close reads and frees memory that is free, and closes descriptor numbers that may by now \
              belong to other files of the program.",
        guard: Guard::Refused("EINVAL"),
        words: None,
        example: "ibv_close_device(ctx);\nibv_close_device(ctx);    /* context-closed-twice */",
        fix: "Close at one place only, and set the variable to NULL there.",
    },
    Text {
        rule: Rule::FdImportedWithoutDup,
        what: "ibv_import_device() is given the very descriptor number that a live context of this process uses.",
        why: "Two contexts then share one descriptor. The first one that is closed closes it under the other, whose \
              calls fail with EBADF or, where the number was used again, reach another file.",
        guard: Guard::Forwarded,
        words: Some(
            "The cmd_fd is obtained from the ibv_context cmd_fd member, which must be dup’d (eg by dup(), SCM_RIGHTS, \
             etc) before being passed to ibv_import_device().",
        ),
        example: "struct ibv_context *second = ibv_import_device(ctx->cmd_fd);  /* no dup() */",
        fix: "Give it ibv_import_device(dup(ctx->cmd_fd)).",
    },
    Text {
        rule: Rule::PdReleasedTwice,
        what: "A PD reference that was released already is released again, by ibv_unimport_pd() or ibv_dealloc_pd(). \
               Also a second release while another thread is busy with the first.",
        why: "The first release freed the struct, so the second one frees it again. Where the memory was given out \
              anew in between, another object is destroyed. A PD is imported as often as you like, but each reference \
              ends once.",
        guard: Guard::Refused("EINVAL"),
        words: Some(PD_ONE_END),
        example: "struct ibv_pd *pd = ibv_import_pd(ctx, handle);\nibv_unimport_pd(pd);\n\
                  ibv_unimport_pd(pd);      /* pd-released-twice */",
        fix: "Let one place own each reference. The report's stacks show both releases; take one away.",
    },
    Text {
        rule: Rule::UmemReleasedTwice,
        what: "A UMEM reference that was released already is released again, by mlx5dv_devx_umem_unimport() or \
               mlx5dv_devx_umem_dereg(). Also a second release while another thread is busy with the first.",
        why: "The first release freed the struct, so the second one frees it again.",
        guard: Guard::Refused("EINVAL"),
        words: Some(UMEM_ONE_END),
        example: "mlx5dv_devx_umem_dereg(umem);\nmlx5dv_devx_umem_unimport(umem);  /* umem-released-twice */",
        fix: "End each reference once: dereg where the kernel object is to go too, unimport where it is to stay.",
    },
    Text {
        rule: Rule::PdUsedAfterRelease,
        what: "A call is given a PD reference that was released before.",
        why: "The struct is free memory. The call reads a context pointer and a handle from it that may be anything.",
        guard: Guard::Refused("EINVAL"),
        words: Some(PD_ONE_END),
        example: "ibv_unimport_pd(pd);\nibv_reg_mr(pd, buf, len, IBV_ACCESS_LOCAL_WRITE);  /* pd-used-after-release */",
        fix: "Release the reference after its last use. Where several parts of a program share a PD, let each import \
              it for itself: a PD may be imported many times, also in one process.",
    },
    Text {
        rule: Rule::UmemUsedAfterRelease,
        what: "A call is given a UMEM reference that was released before.",
        why: "The struct is free memory: an export would hand the numbers of whatever lies there now to other \
              processes.",
        guard: Guard::Refused("EINVAL"),
        words: Some(UMEM_ONE_END),
        example: "mlx5dv_devx_umem_dereg(umem);\nmlx5dv_devx_umem_export(umem, blob);  /* umem-used-after-release */",
        fix: "Export before you release.",
    },
    Text {
        rule: Rule::PdUsedAfterDestroy,
        what: "A call other than a release is given a live PD reference whose kernel object another reference has \
               destroyed, in this process or in another one. The report names who and when.",
        why: "The struct is sound, but its handle names nothing any more, or already another PD, for the kernel gives \
              out the lowest free number. In the first case the call fails with ENOENT; in the second it succeeds on \
              somebody else's PD.",
        guard: Guard::Forwarded,
        words: Some(PD_AFTER_DESTROY),
        example: "/* owner */     ibv_dealloc_pd(pd);\n\
                  /* importer */  ibv_reg_mr(imported, buf, len, 0);  /* pd-used-after-destroy */",
        fix: "Let the last user destroy the PD and the others unimport, and tell each other before it happens.",
    },
    Text {
        rule: Rule::UmemUsedAfterDestroy,
        what: "A call other than a release is given a live UMEM reference whose kernel object another reference has \
               deregistered, in this process or in another one. The report names who and when.",
        why: "The numbers that an export copies out name nothing any more, or another UMEM.",
        guard: Guard::Forwarded,
        words: Some(UMEM_AFTER_DEREG),
        example: "/* owner */     mlx5dv_devx_umem_dereg(umem);\n\
                  /* importer */  mlx5dv_devx_umem_export(imported, blob);  /* umem-used-after-destroy */",
        fix: "Let the last user deregister the UMEM and the others unimport.",
    },
    Text {
        rule: Rule::PdDestroyedElsewhere,
        what: "ibv_dealloc_pd() is called through a live reference whose kernel object another reference has destroyed \
               already. A warning; an error where the number belongs to a new PD by now.",
        why: "In the good case the kernel answers ENOENT, and the struct is still there and leaks. In the bad case the \
              number was given out again, and the call destroys the new PD of somebody else.",
        guard: Guard::Depends("the warning is forwarded; the error is refused with ENOENT"),
        words: Some(PD_AFTER_DESTROY),
        example: "/* owner */     ibv_dealloc_pd(pd);\n\
                  /* importer */  ibv_dealloc_pd(imported);  /* pd-destroyed-elsewhere */",
        fix: "Call ibv_unimport_pd() instead: it cleans up here and does not call the kernel.",
    },
    Text {
        rule: Rule::UmemDestroyedElsewhere,
        what: "mlx5dv_devx_umem_dereg() is called through a live reference whose kernel object another reference has \
               deregistered already. A warning; an error where the number belongs to a new UMEM by now.",
        why: "In the good case the kernel answers ENOENT, and the struct is still there and leaks. In the bad case the \
              call deregisters the new UMEM of somebody else.",
        guard: Guard::Depends("the warning is forwarded; the error is refused with ENOENT"),
        words: Some(UMEM_AFTER_DEREG),
        example: "/* owner */     mlx5dv_devx_umem_dereg(umem);\n\
                  /* importer */  mlx5dv_devx_umem_dereg(imported);  /* umem-destroyed-elsewhere */",
        fix: "Call mlx5dv_devx_umem_unimport() instead: it cleans up here and does not call the kernel.",
    },
    Text {
        rule: Rule::PdUnimportBusy,
        what: "ibv_unimport_pd() is called while objects that were made through this very reference live in this \
               process. The report lists them, with their numbers and the places where they were made. An error for \
               QPs, for buffers, and for queues and regions that were made through a parent domain; a warning for MRs, \
               MWs, SRQs, WQs, AHs and keys.",
        why: "The struct is freed while its children point to it. ibv_destroy_qp() and ibv_free_buf() read the PD \
              later, so for these it is a use of free memory; MRs and the like do not read their PD again, but a \
              dealloc by another process will fail with EBUSY as long as they live.",
        guard: Guard::Forwarded,
        words: Some(PD_ONE_END),
        example: "struct ibv_qp *qp = ibv_create_qp(imported, &attr);\nibv_unimport_pd(imported);  /* pd-unimport-busy */\n\
                  ibv_destroy_qp(qp);         /* reads imported */",
        fix: "Destroy what was made on the reference first, then unimport it.",
    },
    Text {
        rule: Rule::PdOfChildReleased,
        what: "A QP, a buffer of ibv_alloc_buf(), or a queue or region made through a parent domain is destroyed after \
               the PD reference it was made on was released. Not said again where the unimport was reported.",
        why: "The provider reads the PD while it destroys the object, and that struct is free memory.",
        guard: Guard::Forwarded,
        words: None,
        example: "ibv_dealloc_pd(parent_domain);\nibv_unimport_pd(pd);\nibv_destroy_qp(qp);  /* pd-of-child-released */",
        fix: "Destroy the children first, then the parent domain, then release the PD.",
    },
    Text {
        rule: Rule::PdDeallocBusy,
        what: "ibv_dealloc_pd() failed with EBUSY, and the reference was not ended later: not by another try, not by an \
               unimport. Reported when the context is closed, at exit, or on demand; at the call itself it is a note.",
        why: "Somebody's MR, QP or other object hangs on the PD: of this process, or of any that imported it. The \
              report lists those of this process, each with the place where it was made, and how many of which type \
              other guarded processes have; where that does not explain it, it says so. Objects that the program made \
              by DEVX commands with the PD's number are not seen: once mlx5dv_init_obj() has told it that number, the \
              report says that there may be some. The failed call freed nothing, neither the kernel object nor the \
              struct. A dealloc that fails and is tried again after its children are gone is right, and is not \
              reported.",
        guard: Guard::After,
        words: Some("ibv_dealloc_pd() may fail if any other resource is still associated with the PD being freed."),
        example: "/* importer */  mr = ibv_reg_mr(imported, buf, len, 0);\n\
                  /* owner */     ibv_dealloc_pd(pd);     /* EBUSY, and nobody looks */\n\
                  /* owner */     ibv_close_device(ctx);  /* pd-dealloc-busy */",
        fix: "Look at the result. Free the children, wait for the importers, and call it again; or unimport, where \
              another process is to destroy the PD.",
    },
    Text {
        rule: Rule::UmemDeregFailed,
        what: "mlx5dv_devx_umem_dereg() failed, and the reference was not ended later.",
        why: "The failed call freed nothing: the memory stays pinned as long as the device file lives, and the struct \
              leaks.",
        guard: Guard::After,
        words: Some(
            "mlx5dv_devx_umem_dereg returns 0 on success, or the value of errno on failure (which indicates the failure \
             reason).",
        ),
        example: "mlx5dv_devx_umem_dereg(umem);  /* EBUSY, and nobody looks */\n\
                  ibv_close_device(ctx);         /* umem-dereg-failed */",
        fix: "Look at the result: destroy what uses the UMEM, then call it again. After ENOENT, where another reference \
              was faster, call mlx5dv_devx_umem_unimport().",
    },
    Text {
        rule: Rule::PdDestroyedWhileShared,
        what: "A PD is deallocated while other live references to it exist. A note: this is legal.",
        why: "It is recorded so that a later use by one of the others can say who destroyed the PD and when.",
        guard: Guard::Forwarded,
        words: Some(PD_AFTER_DESTROY),
        example: "ibv_dealloc_pd(pd);  /* while an importer still holds it */",
        fix: "Nothing to mend, if the others only unimport from now on.",
    },
    Text {
        rule: Rule::UmemDestroyedWhileShared,
        what: "A UMEM is deregistered while other live references to it exist. A note: this is legal.",
        why: "It is recorded so that a later use by one of the others can say who deregistered the UMEM and when.",
        guard: Guard::Forwarded,
        words: Some(UMEM_AFTER_DEREG),
        example: "mlx5dv_devx_umem_dereg(umem);  /* while an importer still holds it */",
        fix: "Nothing to mend, if the others only unimport from now on.",
    },
    Text {
        rule: Rule::UnimportOfOwned,
        what: "The unimport is called on what this process allocated or registered itself. A warning where no other \
               live reference is known and every process that holds the device file tells what it has; else a note, \
               for then it is a hand-over, or may be one.",
        why: "Unimport frees the struct only. The kernel object stays, and with no reference left nobody can free it \
              before the device file is closed.",
        guard: Guard::Forwarded,
        words: Some(
            "The first one will go to the kernel to destroy the object once the second one way cleanup what ever is \
             needed/opposite of the import without calling the kernel.",
        ),
        example: "struct ibv_pd *pd = ibv_alloc_pd(ctx);\nibv_unimport_pd(pd);  /* unimport-of-owned */",
        fix: "Call ibv_dealloc_pd() or mlx5dv_devx_umem_dereg(), unless another holder is to do it.",
    },
    Text {
        rule: Rule::UnimportFailedSilently,
        what: "The provider did nothing in an unimport, which cannot say so: it returns void.",
        why: "A parent domain still stands on the PD, or the like. The packages of distributions compile the assertion \
              away, so the call returns as if all were well; the reference stays live.",
        guard: Guard::After,
        words: None,
        example: "attr.pd = imported;\nparent = ibv_alloc_parent_domain(ctx, &attr);\n\
                  ibv_unimport_pd(imported);  /* unimport-failed-silently */",
        fix: "Deallocate the parent domain first, then unimport.",
    },
    Text {
        rule: Rule::WrongKind,
        what: "The pointer is known, and it is an object of another type: a parent domain given to ibv_unimport_pd(), \
               a UMEM where a PD belongs.",
        why: "The provider takes the struct for what the call is about, and reads and frees the wrong fields.",
        guard: Guard::Refused("EINVAL"),
        words: Some("ibv_dealloc_pd() will deallocate the parent domain as its exposed as an ibv_pd pd."),
        example: "struct ibv_pd *parent = ibv_alloc_parent_domain(ctx, &attr);\n\
                  ibv_unimport_pd(parent);  /* wrong-kind */",
        fix: "End a parent domain with ibv_dealloc_pd(); it may be given wherever else a PD is.",
    },
    Text {
        rule: Rule::InheritedContextClosed,
        what: "A forked child closes a context that it inherited.",
        why: "The child has the same device file, and closing it properly destroys kernel objects that the parent goes \
              on using: the library asks the kernel for that first.",
        guard: Guard::Forwarded,
        words: None,
        example: "if (fork() == 0) {\n    ibv_close_device(ctx);  /* inherited-context-closed */\n    _exit(0);\n}",
        fix: "Let the child exit or exec without touching what it inherited; or let it open, or import, a context of \
              its own.",
    },
];
