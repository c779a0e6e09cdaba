//! What there is to say about the rules on leaks.

use super::Rule;
use super::text::{Guard, Text};

const ONE_END: &str = "Once the PD usage has been ended ibv_dealloc_pd() or ibv_unimport_pd() should be called.";

pub(super) const TEXTS: &[Text] = &[
    Text {
        rule: Rule::ObjectOrphaned,
        what: "A kernel object lives on, and no reference to it is left anywhere, while its device file stays open. A \
               note where not all holders of the device file are guarded.",
        why: "Nobody can destroy it any more except by importing it again by its number. Its memory stays pinned until \
              the last process closes the device file.",
        guard: Guard::Report,
        words: Some(ONE_END),
        example: "/* owner */     exits, or calls ibv_unimport_pd(pd)\n\
                  /* importer */  ibv_unimport_pd(imported);  /* the last reference: object-orphaned */",
        fix: "Agree on who destroys: the last one calls ibv_dealloc_pd() or mlx5dv_devx_umem_dereg().",
    },
    Text {
        rule: Rule::ReferenceLost,
        what: "A PD reference was live when its context was closed, or a destroy failed and the reference was never \
               ended. A warning where the device file ended with that close. Imported UMEMs need no context to be \
               unimported, so they are judged at exit.",
        why: "After the close the reference cannot be used and cannot be ended: its struct is lost, and where the \
              device file lives on, so is the program's hold on the kernel object.",
        guard: Guard::Report,
        words: Some(
            "To avoid resource leaks, the user should release all associated resources before closing a context.",
        ),
        example: "struct ibv_pd *pd = ibv_import_pd(ctx, handle);\nibv_close_device(ctx);  /* reference-lost */",
        fix: "Release every reference before its context is closed.",
    },
    Text {
        rule: Rule::HeldAtExit,
        what: "The process ended with live references, and the device file ended with it. A note; a warning with \
               leaks=all.",
        why: "The kernel takes everything back at the last close, so nothing is lost. It may still hint at a missing \
              clean-up.",
        guard: Guard::Report,
        words: None,
        example: "struct ibv_pd *pd = ibv_alloc_pd(ctx);\nexit(0);  /* held-at-exit */",
        fix: "Nothing to mend, if exiting is the clean-up.",
    },
    Text {
        rule: Rule::LeftToOthers,
        what: "A process ended, killed or on purpose, without releasing its references, and other holders remain. A \
               note.",
        why: "The kernel object lives on with the device file. The others can go on using it, and one of them has to \
              destroy it.",
        guard: Guard::Report,
        words: Some(
            "This is the responsibility of the application to coordinate between all ibv_context(s) that use \
                     this PD.",
        ),
        example: "/* owner */     kill -9\n/* importer */  goes on using the PD: left-to-others",
        fix: "Nothing to mend, if one of the others destroys the object.",
    },
    Text {
        rule: Rule::ChildrenLeft,
        what: "A context was closed while objects made in it were alive: QPs, CQs, MRs and the like, counted by type. A \
               note.",
        why: "Their structs are lost, and nothing in the program can free the kernel's objects any more. They end with \
              the device file: at once where this was its last context, else when its last holder closes it; until then \
              they keep memory pinned and their PDs busy.",
        guard: Guard::Report,
        words: Some(
            "To avoid resource leaks, the user should release all associated resources before closing a context.",
        ),
        example: "struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);\nibv_close_device(ctx);  /* children-left */",
        fix: "Destroy what was made in a context before closing it, in the reverse order of its making.",
    },
];
