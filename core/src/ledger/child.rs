//! What hangs on a PD or lives in a context, by type.

/// Declares the types in one place: variant, the word that reports use, the word for its number where it has one besides
/// its handle. The order is the one in which records number them.
macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident $word:literal $number:expr;)*) => {
        /// The type of a child: what can hang on a PD and keep it from being deallocated, and what lives in a context
        /// without a PD.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ChildKind {
            $($(#[$doc])* $variant,)*
        }

        impl ChildKind {
            /// Every type.
            pub const ALL: &[ChildKind] = &[$(ChildKind::$variant,)*];

            /// The word that reports use: "mr".
            pub const fn word(self) -> &'static str {
                match self { $(ChildKind::$variant => $word,)* }
            }

            /// What its number is called, where the device knows it by one: "qp number".
            pub const fn number_word(self) -> Option<&'static str> {
                match self { $(ChildKind::$variant => $number,)* }
            }
        }
    };
}

kinds! {
    /// Memory region, registered or imported.
    Mr "mr" Some("lkey");
    /// Memory region of nothing: the provider's own.
    NullMr "null mr" Some("lkey");
    /// Memory window.
    Mw "mw" Some("rkey");
    /// Queue pair.
    Qp "qp" Some("qp number");
    /// Shared receive queue.
    Srq "srq" None;
    /// Address handle.
    Ah "ah" None;
    /// Work queue.
    Wq "wq" Some("wq number");
    /// Parent domain: no kernel object, but it keeps the PD's struct.
    ParentDomain "parent domain" None;
    /// Memory key of mlx5.
    Mkey "mkey" Some("lkey");
    /// Data encryption key of mlx5.
    Dek "dek" None;
    /// Buffer from the provider.
    Buf "buf" None;
    /// Completion queue.
    Cq "cq" None;
    /// Completion channel.
    CompChannel "comp channel" None;
    /// Device memory.
    Dm "dm" None;
    /// Hints for DMA.
    Dmah "dmah" None;
    /// A set of counters.
    Counters "counters object" None;
    /// Steering rule.
    Flow "flow" None;
    /// Thread domain.
    Td "td" None;
    /// XRC domain.
    Xrcd "xrcd" None;
    /// Indirection table of receive queues.
    IndTable "indirection table" None;
    /// Doorbell page of mlx5.
    Uar "uar" None;
    /// Virtio doorbell page of mlx5.
    Var "var" None;
    /// Packet pacing entry of mlx5.
    Pp "packet pacing entry" None;
    /// DEVX object of mlx5. Which PD its command names, if any, is not known.
    Devx "DEVX object" None;
}

impl ChildKind {
    /// Whether the provider reads the struct of the PD while it ends one: `ibv_destroy_qp` and `ibv_free_buf` do.
    pub const fn reads_pd(self) -> bool {
        matches!(self, ChildKind::Qp | ChildKind::Buf)
    }

    /// Whether one certainly keeps its PD from being deallocated. Others may be the provider's own, of which no kernel
    /// knows.
    pub const fn holds_pd(self) -> bool {
        use ChildKind::{Mr, Mw, ParentDomain, Qp, Srq, Wq};
        matches!(self, Mr | Mw | ParentDomain | Qp | Srq | Wq)
    }

    /// "1 qp", "3 qps".
    pub fn counted(self, count: u64) -> String {
        format!("{count} {}{}", self.word(), if count == 1 { "" } else { "s" })
    }
}
