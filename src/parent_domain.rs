//! Parent domains are made by an inline verb through a pointer in the context: watched by wrapping that pointer.

use parking_lot::RwLock;

use crate::abi::types::{
    ABI_IS_EXTENDED, AllocParentDomain, IbvContext, IbvParentDomainInitAttr, IbvPd, VerbsContextTail,
};
use crate::call;
use crate::guard::Guard;
use crate::real::Real;

/// The provider's own function, for each context that we wrapped. Contexts of one provider share it.
static ORIGINALS: RwLock<Vec<(usize, AllocParentDomain)>> = RwLock::new(Vec::new());

impl Guard {
    /// Wraps `alloc_parent_domain` of a context that was just made.
    pub fn watch_parent_domains(&self, context: *mut IbvContext) {
        let Some(slot) = slot(context) else { return };
        // SAFETY: `slot` points into the context that the provider has just returned and nobody else knows yet.
        let Some(original) = (unsafe { *slot }) else { return };
        if std::ptr::fn_addr_eq(original, alloc_parent_domain as AllocParentDomain) {
            return;
        }
        let mut originals = ORIGINALS.write();
        originals.retain(|(address, _)| *address != context.addr());
        originals.push((context.addr(), original));
        drop(originals);
        // SAFETY: as above.
        unsafe { *slot = Some(alloc_parent_domain) };
    }

    /// Forgets the wrapping of a context that was closed.
    pub fn unwatch_parent_domains(&self, context: usize) {
        ORIGINALS.write().retain(|(address, _)| *address != context);
    }
}

/// `verbs_context.alloc_parent_domain` of an extended context, if its struct is big enough to have one.
fn slot(context: *mut IbvContext) -> Option<*mut Option<AllocParentDomain>> {
    const BEFORE_CONTEXT: usize = std::mem::offset_of!(VerbsContextTail, context);
    // SAFETY: an open context; abi_compat is a public field of it.
    if unsafe { (*context).abi_compat } != ABI_IS_EXTENDED {
        return None;
    }
    let tail = context.wrapping_byte_sub(BEFORE_CONTEXT).cast::<VerbsContextTail>();
    // SAFETY: an extended context is the end of a verbs_context, and `sz` stands right before it (verbs.h).
    let size = unsafe { (*tail).sz };
    // The struct grows at its head: it reaches back to this member if it is this long (verbs_get_ctx_op).
    // SAFETY: as above; only the member's address is taken.
    (size >= size_of::<VerbsContextTail>()).then(|| unsafe { &raw mut (*tail).alloc_parent_domain })
}

/// Stands in the context in place of the provider's function. `ibv_alloc_parent_domain(3)`.
unsafe extern "C-unwind" fn alloc_parent_domain(
    context: *mut IbvContext,
    attr: *mut IbvParentDomainInitAttr,
) -> *mut IbvPd {
    static NAME: Real<AllocParentDomain> = Real::verbs(c"ibv_alloc_parent_domain", c"inline");
    let original = ORIGINALS.read().iter().find(|(address, _)| *address == context.addr()).map(|(_, found)| *found);
    call::run_wrapped(
        &NAME,
        |guard| guard.before_parent_domain(&NAME, attr),
        || match original {
            // SAFETY: the provider's own function for this context, with the caller's own arguments.
            Some(original) => unsafe { original(context, attr) },
            None => call::Answer::failed(libc::EOPNOTSUPP),
        },
        |guard, token, domain| guard.after_parent_domain(token, *domain),
    )
}
