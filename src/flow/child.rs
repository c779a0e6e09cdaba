//! Children of PDs and contexts; and exports, the other use of a reference.

use verbsguard_core::check::{Fault, errno};
use verbsguard_core::ledger::Kind;
use verbsguard_core::rules::{Rule, Severity};
use verbsguard_core::track::{ChildEndToken, ChildToken, NewChild};

use crate::abi::types::{IbvContext, IbvPd, MLX5DV_OBJ_PD, Made, Mlx5dvObj};
use crate::call::Decision;
use crate::copies::Owner;
use crate::guard::Guard;
use crate::making::Attributes;
use crate::peek::{self, Peek};
use crate::real::Named;

/// `IBV_REREG_MR_CHANGE_PD` (verbs.h).
const CHANGE_PD: i32 = 1 << 1;

impl Guard {
    /// Before a call that makes a child with `pd`.
    pub fn before_child(&self, function: &dyn Named, argument: &'static str, pd: *mut IbvPd) -> Decision<ChildToken> {
        if let Some(errno) = self.refuse_null(function, argument, pd.addr()) {
            return Decision::Refuse(errno);
        }
        let verdict = self.tracker.begin_use(pd.addr(), Kind::Pd, true, &self.world);
        let decision = self.decide(function, argument, verdict);
        if let Decision::Forward(None) = decision
            && let Some(pd) = peek::pd(pd.addr())
        {
            self.adopt(pd.context);
        }
        decision
    }

    /// Before a call that makes a child with the PD that `attributes` name. Without one that is known it is a child of
    /// `context` all the same; NULL where the call names none.
    pub fn before_child_by(
        &self,
        function: &dyn Named,
        context: *mut IbvContext,
        attributes: Attributes,
    ) -> Decision<ChildToken> {
        let decision = match attributes.pd() {
            Some(pd) => self.before_child(function, attributes.argument, pd),
            None => Decision::Forward(None),
        };
        match decision {
            Decision::Forward(None) if !context.is_null() => self.before_child_in(function, context),
            decision => decision,
        }
    }

    /// Before a call that makes something in `context`.
    pub fn before_child_in(&self, function: &dyn Named, context: *mut IbvContext) -> Decision<ChildToken> {
        self.before_birth(function, context).map(ChildToken::from)
    }

    /// The same for a call that does not read `context`.
    pub fn before_copy_in(&self, context: *mut IbvContext) -> Decision<ChildToken> {
        Decision::Forward(self.tracker.open_context(context.addr()).map(ChildToken::from))
    }

    pub fn after_child<T: Made>(&self, token: ChildToken, made: *mut T) {
        if made.is_null() {
            return;
        }
        // SAFETY: the provider has just returned this struct, and has set its public fields.
        let (handle, number) = unsafe { ((*made).handle(), (*made).number()) };
        let new = NewChild { address: made.addr(), kind: T::KIND, handle, number };
        self.tracker.finish_child(token, new, self.mark());
    }

    /// Before `mlx5dv_init_obj`, which reads the PD where it is asked for one.
    pub fn before_init_obj(
        &self,
        function: &dyn Named,
        object: *const Mlx5dvObj,
        object_type: u64,
    ) -> Decision<ChildToken> {
        let pd = (object_type & MLX5DV_OBJ_PD != 0)
            .then(|| object.addr().checked_add(std::mem::offset_of!(Mlx5dvObj, pd_in)))
            .flatten()
            .and_then(peek::pointer);
        match pd {
            Some(pd) => self.before_child(function, "obj->pd.in", pd),
            None => Decision::Forward(None),
        }
    }

    pub fn after_init_obj(&self, token: ChildToken, error: i32) {
        if error == 0 {
            self.tracker.pdn_given(token);
        }
    }

    pub fn before_child_end(
        &self,
        function: &dyn Named,
        argument: &'static str,
        child: usize,
    ) -> Decision<ChildEndToken> {
        if let Some(errno) = self.refuse_null(function, argument, child) {
            return Decision::Refuse(errno);
        }
        let verdict = self.tracker.begin_child_end(child);
        self.decide(function, argument, verdict)
    }

    pub fn after_child_end(&self, token: ChildEndToken, error: i32) {
        if error == 0 {
            self.tracker.finish_child_end(token);
        }
    }

    /// Before `ibv_rereg_mr`, which uses `pd` only where `flags` says so.
    pub fn before_move(&self, function: &dyn Named, mr: usize, flags: i32, pd: *mut IbvPd) -> Decision<ChildToken> {
        if let Some(errno) = self.refuse_null(function, "mr", mr) {
            return Decision::Refuse(errno);
        }
        if flags & CHANGE_PD == 0 {
            return Decision::Forward(None);
        }
        self.before_child(function, "pd", pd)
    }

    pub fn after_move(&self, token: ChildToken, mr: usize, error: i32) {
        if error == 0 {
            self.tracker.move_child(token, mr);
        }
    }

    /// Before an export of the UMEM at `umem` to `data`.
    pub fn before_export(&self, function: &dyn Named, umem: usize, data: usize) -> Decision<ChildToken> {
        let null = self.refuse_null(function, "umem", umem).or_else(|| self.refuse_null(function, "data", data));
        if let Some(errno) = null {
            return Decision::Refuse(errno);
        }
        let size = crate::abi::umem::export_size(Owner::Object(umem));
        if peek::writable(data, size) == Peek::Fault
            && let Some(errno) = self.refuse_bad_pointer(function, data, size, "written")
        {
            return Decision::Refuse(errno);
        }
        let verdict = self.tracker.begin_use(umem, Kind::Umem, false, &self.world);
        let decision = self.decide(function, "umem", verdict);
        if let Decision::Forward(Some(_)) = decision
            && let Some(context) = peek::umem(umem).map(|found| found.context.addr())
            && let Some(errno) = self.refuse_vfio(function, "umem", context)
        {
            return Decision::Refuse(errno);
        }
        decision
    }

    pub fn after_export(&self, token: ChildToken, error: i32) {
        if error == 0 {
            self.tracker.exported(token, self.mark());
        }
    }

    pub(super) fn refuse_bad_pointer(&self, function: &dyn Named, data: usize, size: usize, how: &str) -> Option<i32> {
        let fault = Fault::refused(Rule::BadPointer, errno::EFAULT);
        self.judge(function, "data", fault, format!("data {data:#x} cannot be {how} for {size} bytes"))
    }

    /// Umems of a VFIO context are structs of another layout, which export and import misread. Such a context has no
    /// device file.
    pub(super) fn refuse_vfio(&self, function: &dyn Named, argument: &'static str, context: usize) -> Option<i32> {
        let cmd_fd = match self.open_context(context) {
            Some(known) => Some(known.cmd_fd),
            None => peek::cmd_fd(context),
        };
        if context == 0 || cmd_fd != Some(-1) {
            return None;
        }
        let fault = Fault::forwarded(Rule::UmemOnVfio, Severity::Error);
        let message = format!("context {context:#x} is a VFIO context: its UMEMs cannot be exported or imported");
        self.judge(function, argument, fault, message)
    }
}
