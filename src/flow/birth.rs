//! Births of references: alloc, register, import.

use std::ffi::c_void;

use verbsguard_core::check::{self, Fault, Memory, Registration, errno};
use verbsguard_core::ledger::Kind;
use verbsguard_core::rules::{Rule, Severity};
use verbsguard_core::track::{BirthToken, Newborn, Origin};

use crate::abi::types::{
    IbvContext, IbvPd, MLX5DV_OBJ_PD, MLX5DV_UMEM_MASK_DMABUF, Mlx5dvDevxUmem, Mlx5dvDevxUmemIn, Mlx5dvObj, Mlx5dvPd,
};
use crate::call::{Decision, errno as last_errno};
use crate::copies::Sight;
use crate::guard::Guard;
use crate::peek::{self, Peek};
use crate::real::{Named, Real};
use crate::thread;

impl Guard {
    /// The open context at `address`. Takes no lock where this thread has asked for the same one last.
    #[inline]
    pub(super) fn open_context(&self, address: usize) -> Option<BirthToken> {
        let latest = &thread::this().context;
        let (version, token) = latest.get();
        let now = self.tracker.contexts_version();
        if version == now && token.address == address {
            return Some(token);
        }
        let found = self.tracker.open_context(address)?;
        // What was found is at least as new as `now`.
        latest.set((now, found));
        Some(found)
    }

    /// Before a call that makes something in `context`.
    pub fn before_birth(&self, function: &dyn Named, context: *mut IbvContext) -> Decision<BirthToken> {
        if let Some(token) = self.open_context(context.addr()) {
            if !token.adopted || self.is_same_context(&token) {
                return Decision::Forward(Some(token));
            }
            self.tracker.forget_adopted_context(token.address);
        }
        let argument = function.context_argument();
        if let Some(errno) = self.check_context(function, argument, context.addr()) {
            return Decision::Refuse(errno);
        }
        let verdict = self.tracker.begin_birth(context.addr());
        self.decide(function, argument, verdict)
    }

    /// The same for a call that reads another pointer too.
    pub fn before_birth_with(
        &self,
        function: &dyn Named,
        context: *mut IbvContext,
        argument: &'static str,
        pointer: usize,
    ) -> Decision<BirthToken> {
        match self.before_birth(function, context) {
            Decision::Forward(token) => match self.refuse_null(function, argument, pointer) {
                Some(errno) => Decision::Refuse(errno),
                None => Decision::Forward(token),
            },
            refused => refused,
        }
    }

    /// After alloc_pd or import_pd; `asked` is the handle that was imported.
    pub fn after_pd(
        &self,
        function: &dyn Named,
        token: BirthToken,
        pd: *mut IbvPd,
        origin: Origin,
        asked: Option<u32>,
    ) {
        if pd.is_null() {
            return self.pd_failed(function, token, asked);
        }
        // SAFETY: the provider has just returned this PD; its handle is a public field that it has set.
        let handle = unsafe { (*pd).handle };
        let newborn = Newborn { address: pd.addr(), kind: Kind::Pd, handle, second_id: pdn(pd), size: 0, origin };
        self.born(function, token, newborn, Some("pd_handle"));
    }

    fn pd_failed(&self, function: &dyn Named, token: BirthToken, asked: Option<u32>) {
        let error = last_errno();
        self.note_errno(function, token, error);
        let Some(handle) = asked else { return };
        let now = self.mark().time;
        if let Some((fault, subject)) = self.tracker.failed_import(token, handle, error, now, &self.world) {
            self.report(function, Some("pd_handle"), &fault, &subject, false);
        }
    }

    fn born(&self, function: &dyn Named, token: BirthToken, newborn: Newborn, argument: Option<&'static str>) {
        let faults = self.tracker.finish_birth(token, newborn, self.mark(), &self.world);
        self.tell(function, argument, &faults);
    }

    /// After `mlx5dv_devx_umem_reg`.
    pub fn after_umem_reg(
        &self,
        function: &dyn Named,
        token: BirthToken,
        umem: *mut Mlx5dvDevxUmem,
        (addr, size, access): (*mut c_void, usize, u32),
    ) {
        let args = Registration {
            addr: addr.addr() as u64,
            size: size as u64,
            access,
            pgsz_bitmap: None,
            comp_mask: 0,
            dmabuf_fd: None,
        };
        self.registered(function, token, umem, &args);
    }

    /// After `mlx5dv_devx_umem_reg_ex`.
    pub fn after_umem_reg_ex(
        &self,
        function: &dyn Named,
        token: BirthToken,
        umem: *mut Mlx5dvDevxUmem,
        umem_in: *const Mlx5dvDevxUmemIn,
    ) {
        // SAFETY: the real function has just read this struct up to comp_mask; dmabuf_fd is read, as there, only
        // where its mask bit says that the caller's struct has one.
        let args = unsafe {
            let comp_mask = (*umem_in).comp_mask;
            Registration {
                addr: (*umem_in).addr.addr() as u64,
                size: (*umem_in).size as u64,
                access: (*umem_in).access,
                pgsz_bitmap: Some((*umem_in).pgsz_bitmap),
                comp_mask,
                dmabuf_fd: (comp_mask & MLX5DV_UMEM_MASK_DMABUF != 0).then(|| (*umem_in).dmabuf_fd),
            }
        };
        self.registered(function, token, umem, &args);
    }

    fn registered(&self, function: &dyn Named, token: BirthToken, umem: *mut Mlx5dvDevxUmem, args: &Registration) {
        if umem.is_null() {
            return self.registration_failed(function, token, args);
        }
        if let Some(newborn) = self.umem(token, umem, args.size, Origin::Owned) {
            self.born(function, token, newborn, None);
        }
    }

    /// What the provider keeps of a UMEM; None where it is not the struct we know (a VFIO context's is another).
    fn umem(&self, token: BirthToken, umem: *mut Mlx5dvDevxUmem, size: u64, origin: Origin) -> Option<Newborn> {
        // SAFETY: the provider has just returned this umem; behind every kind of it there are the bytes of ours.
        let found = unsafe { *umem };
        (found.context.addr() == token.address).then_some(Newborn {
            address: umem.addr(),
            kind: Kind::Umem,
            handle: found.handle,
            second_id: Some(found.umem_id),
            size,
            origin,
        })
    }

    fn registration_failed(&self, function: &dyn Named, token: BirthToken, args: &Registration) {
        let error = last_errno();
        self.note_errno(function, token, error);
        if error == errno::EIO {
            return;
        }
        match check::registration(args, error, &self.world) {
            Some(fault) => {
                let argument = argument_of(fault.rule);
                self.judge(function, argument, fault, explain(fault.rule, args, error));
            }
            None => self.unexplained(function, args, error),
        }
    }

    fn unexplained(&self, function: &dyn Named, args: &Registration, error: i32) {
        let count = self.count_failure(error);
        let name = verbsguard_core::describe::errno_name(error);
        let mut message =
            format!("registering {} bytes at {:#x} failed with {name} (failure {count} with it)", args.size, args.addr);
        if error == errno::ENOMEM {
            message += &crate::world::memory_limits(self.tracker.totals().umems);
        }
        self.judge(function, "", Fault::forwarded(Rule::RegistrationFailed, Severity::Note), message);
    }

    /// Before `mlx5dv_devx_umem_import`, which reads `data` and only stores `context`.
    pub fn before_umem_import(
        &self,
        function: &dyn Named,
        context: *mut IbvContext,
        data: usize,
    ) -> Decision<BirthToken> {
        let size = crate::abi::umem::export_size(context.into());
        if let Some(errno) = self.refuse_null(function, "data", data) {
            return Decision::Refuse(errno);
        }
        if peek::readable(data, size) == Peek::Fault
            && let Some(errno) = self.refuse_bad_pointer(function, data, size, "read")
        {
            return Decision::Refuse(errno);
        }
        if let Some(birth) = self.open_context(context.addr()).filter(|birth| birth.cmd_fd >= 0) {
            return Decision::Forward(Some(birth));
        }
        if context.is_null() {
            let fault = Fault::forwarded(Rule::NullArgument, Severity::Error);
            let message = "context is NULL: the import only looks successful".to_owned();
            return match self.judge(function, "context", fault, message) {
                Some(errno) => Decision::Refuse(errno),
                None => Decision::Forward(None),
            };
        }
        if let Some(errno) = self.refuse_vfio(function, "context", context.addr()) {
            return Decision::Refuse(errno);
        }
        self.before_birth(function, context)
    }

    pub fn after_umem_import(&self, function: &dyn Named, token: BirthToken, umem: *mut Mlx5dvDevxUmem) {
        if umem.is_null() {
            return;
        }
        if let Some(newborn) = self.umem(token, umem, 0, Origin::Imported) {
            self.born(function, token, newborn, Some("data"));
        }
    }

    fn note_errno(&self, function: &dyn Named, token: BirthToken, error: i32) {
        if let Some(file) = self.tracker.file(token.file)
            && file.note_errno(error)
        {
            let device = self.tracker.context_by_id(token.context).map(|(_, context)| context.device);
            self.note_device_gone(function, device.as_deref().unwrap_or("the device"));
        }
    }
}

/// The PD's number in the device, which the kernel never reuses for another device file: libmlx5 keeps it, no call to
/// the kernel is made. None with another provider.
fn pdn(pd: *mut IbvPd) -> Option<u32> {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvObj, u64) -> std::ffi::c_int;
    static REAL: Real<F> = Real::mlx5_if_loaded(c"mlx5dv_init_obj", c"MLX5_1.2");
    let mut out = Mlx5dvPd::default();
    let mut object = Mlx5dvObj {
        before_pd: [std::ptr::null_mut(); 12],
        pd_in: pd,
        pd_out: &raw mut out,
        after_pd: [std::ptr::null_mut(); 8],
    };
    let real = REAL.get(pd.into(), Sight::Known)?;
    // SAFETY: a PD that the provider has just returned; it is asked for that object only, and fills `out`.
    let answer = unsafe { real(&raw mut object, MLX5DV_OBJ_PD) };
    (answer == 0).then_some(out.pdn)
}

fn argument_of(rule: Rule) -> &'static str {
    match rule {
        Rule::UmemSizeZero | Rule::UmemRangeWraps => "size",
        Rule::UmemDmabufFd => "dmabuf_fd",
        Rule::UmemCompMask => "comp_mask",
        Rule::UmemPgszBitmap => "pgsz_bitmap",
        Rule::UmemAccessBits => "access",
        _ => "addr",
    }
}

fn explain(rule: Rule, args: &Registration, error: i32) -> String {
    let Registration { addr, size, access, comp_mask, .. } = *args;
    let why = match rule {
        Rule::UmemSizeZero => "size is 0: a UMEM has at least one byte".to_owned(),
        Rule::UmemRangeWraps => format!("addr {addr:#x} plus size {size} wraps around the end of the address space"),
        Rule::UmemMemoryUnmapped => format!("not all of the {size} bytes at {addr:#x} are mapped"),
        Rule::UmemDmabufFd => format!("dmabuf_fd {} is no dmabuf", args.dmabuf_fd.unwrap_or(-1)),
        Rule::UmemDmabufOffset => {
            format!("addr {addr:#x} is an offset into the dmabuf here, and offset plus size {size} lies past its end")
        }
        Rule::UmemCompMask => format!("comp_mask {comp_mask:#x} has bits that this library does not know"),
        Rule::UmemPgszBitmap => format!(
            "pgsz_bitmap {:#x} has none of the page sizes that the kernel can take for {size} bytes (4 KiB up to the \
             size rounded up to a power of two)",
            args.pgsz_bitmap.unwrap_or(0)
        ),
        _ => format!(
            "access {access:#x} is not what the kernel takes for a UMEM: local write, remote write (with local write), \
             remote read"
        ),
    };
    format!("{why}; the kernel answered {}", verbsguard_core::describe::errno_name(error))
}

impl Memory for crate::world::World {
    fn is_mapped(&self, addr: u64, size: u64) -> bool {
        match (usize::try_from(addr), usize::try_from(size)) {
            (Ok(addr), Ok(size)) => peek::is_mapped(addr, size),
            _ => false,
        }
    }

    fn dmabuf_size(&self, fd: i32) -> Option<u64> {
        crate::world::dmabuf_size(fd)
    }

    fn page_size(&self) -> u64 {
        peek::page_size() as u64
    }
}
