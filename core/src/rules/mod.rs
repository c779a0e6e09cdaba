//! The rules: what verbsguard may say, under which id, and how grave it is.
//!
//! An id is part of what users' scripts depend on: it never changes its meaning.

mod arguments;
mod identity;
mod leaks;
mod lifetime;
mod markdown;
mod text;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use markdown::markdown;
pub use text::{Guard, Text};

/// How grave a finding is. Only errors change an exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Information: printed with `verbose=1` only, always in JSON.
    Note,
    /// Legal, but nearly always a mistake.
    Warning,
    /// Certainly wrong by the manual page, or unsafe.
    Error,
}

impl Severity {
    /// The word that options, text and JSON use.
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Severity {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        [Severity::Note, Severity::Warning, Severity::Error]
            .into_iter()
            .find(|severity| severity.word() == word)
            .ok_or_else(|| format!("'{word}' is no severity: use note, warning or error"))
    }
}

/// What a rule is about; `explain --list` and docs/rules.md are ordered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    /// Use, release and destruction of objects and references.
    Lifetime,
    /// Which kernel object a handle or an exported blob stands for.
    Identity,
    /// The arguments of registrations, explained after the real call refused them.
    Arguments,
    /// What was never released.
    Leaks,
}

impl Section {
    /// Every section, in the order of docs/rules.md.
    pub const ALL: [Section; 4] = [Section::Lifetime, Section::Identity, Section::Arguments, Section::Leaks];

    /// Its headline.
    pub const fn title(self) -> &'static str {
        match self {
            Section::Lifetime => "Lifetime",
            Section::Identity => "Identity",
            Section::Arguments => "Arguments and the device",
            Section::Leaks => "Leaks",
        }
    }
}

/// Declares the rules in one place: variant, id, default severity, section, manual page.
macro_rules! rules {
    ($($section:ident { $($variant:ident $id:literal $severity:ident $page:literal;)* })*) => {
        /// A rule of verbsguard. `verbsguard explain ID` tells what each one means.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $($(#[doc = concat!("`", $id, "`")] $variant,)*)*
        }

        impl Rule {
            /// Every rule, by section.
            pub const ALL: &[Rule] = &[$($(Rule::$variant,)*)*];

            /// The id that reports, options and suppressions use.
            pub const fn id(self) -> &'static str {
                match self { $($(Rule::$variant => $id,)*)* }
            }

            /// The severity unless a check knows better or an option says otherwise.
            pub const fn severity(self) -> Severity {
                match self { $($(Rule::$variant => Severity::$severity,)*)* }
            }

            /// What the rule is about.
            pub const fn section(self) -> Section {
                match self { $($(Rule::$variant => Section::$section,)*)* }
            }

            /// The manual page that says what is right, as `name(3)`.
            pub const fn page(self) -> &'static str {
                match self { $($(Rule::$variant => $page,)*)* }
            }
        }
    };
}

rules! {
    Lifetime {
        NullArgument "null-argument" Error "ibv_import_pd(3)";
        BadPointer "bad-pointer" Error "mlx5dv_devx_umem_export(3)";
        ContextClosed "context-closed" Error "ibv_open_device(3)";
        ContextClosedTwice "context-closed-twice" Error "ibv_open_device(3)";
        FdImportedWithoutDup "fd-imported-without-dup" Warning "ibv_import_device(3)";
        PdReleasedTwice "pd-released-twice" Error "ibv_import_pd(3)";
        UmemReleasedTwice "umem-released-twice" Error "mlx5dv_devx_umem_export(3)";
        PdUsedAfterRelease "pd-used-after-release" Error "ibv_import_pd(3)";
        UmemUsedAfterRelease "umem-used-after-release" Error "mlx5dv_devx_umem_export(3)";
        PdUsedAfterDestroy "pd-used-after-destroy" Error "ibv_import_pd(3)";
        UmemUsedAfterDestroy "umem-used-after-destroy" Error "mlx5dv_devx_umem_export(3)";
        PdDestroyedElsewhere "pd-destroyed-elsewhere" Warning "ibv_import_pd(3)";
        UmemDestroyedElsewhere "umem-destroyed-elsewhere" Warning "mlx5dv_devx_umem_export(3)";
        PdUnimportBusy "pd-unimport-busy" Warning "ibv_import_pd(3)";
        PdOfChildReleased "pd-of-child-released" Error "ibv_import_pd(3)";
        PdDeallocBusy "pd-dealloc-busy" Warning "ibv_alloc_pd(3)";
        UmemDeregFailed "umem-dereg-failed" Warning "mlx5dv_devx_umem_reg(3)";
        PdDestroyedWhileShared "pd-destroyed-while-shared" Note "ibv_import_pd(3)";
        UmemDestroyedWhileShared "umem-destroyed-while-shared" Note "mlx5dv_devx_umem_export(3)";
        UnimportOfOwned "unimport-of-owned" Warning "ibv_import_pd(3)";
        UnimportFailedSilently "unimport-failed-silently" Warning "ibv_import_pd(3)";
        WrongKind "wrong-kind" Error "ibv_alloc_parent_domain(3)";
        InheritedContextClosed "inherited-context-closed" Warning "ibv_open_device(3)";
    }
    Identity {
        PdHandleStale "pd-handle-stale" Error "ibv_import_pd(3)";
        PdHandleForeign "pd-handle-foreign" Error "ibv_import_pd(3)";
        PdHandleIsPdn "pd-handle-is-pdn" Warning "ibv_import_pd(3)";
        PdHandleMismatch "pd-handle-mismatch" Warning "ibv_import_pd(3)";
        UmemBlobForeign "umem-blob-foreign" Error "mlx5dv_devx_umem_export(3)";
        UmemBlobStale "umem-blob-stale" Error "mlx5dv_devx_umem_export(3)";
        UmemBlobForged "umem-blob-forged" Error "mlx5dv_devx_umem_export(3)";
        UmemOnVfio "umem-on-vfio" Error "mlx5dv_get_vfio_device_list(3)";
        ImportOfOwn "import-of-own" Note "ibv_import_pd(3)";
    }
    Arguments {
        UmemSizeZero "umem-size-zero" Warning "mlx5dv_devx_umem_reg(3)";
        UmemRangeWraps "umem-range-wraps" Warning "mlx5dv_devx_umem_reg(3)";
        UmemMemoryUnmapped "umem-memory-unmapped" Warning "mlx5dv_devx_umem_reg(3)";
        UmemDmabufFd "umem-dmabuf-fd" Warning "mlx5dv_devx_umem_reg(3)";
        UmemDmabufOffset "umem-dmabuf-offset" Warning "mlx5dv_devx_umem_reg(3)";
        UmemCompMask "umem-comp-mask" Warning "mlx5dv_devx_umem_reg(3)";
        UmemPgszBitmap "umem-pgsz-bitmap" Warning "mlx5dv_devx_umem_reg(3)";
        UmemAccessBits "umem-access-bits" Warning "mlx5dv_devx_umem_reg(3)";
        RegistrationFailed "registration-failed" Note "mlx5dv_devx_umem_reg(3)";
        ProviderLacks "provider-lacks" Note "mlx5dv_devx_umem_export(3)";
        DeviceGone "device-gone" Note "ibv_get_async_event(3)";
    }
    Leaks {
        ObjectOrphaned "object-orphaned" Error "ibv_import_pd(3)";
        ReferenceLost "reference-lost" Error "ibv_open_device(3)";
        HeldAtExit "held-at-exit" Note "ibv_alloc_pd(3)";
        LeftToOthers "left-to-others" Note "ibv_import_pd(3)";
        ChildrenLeft "children-left" Note "ibv_open_device(3)";
    }
}

impl Rule {
    /// The manual page for a finding in a call of `function`. Rules on both PDs and UMEMs, or on any call, send the
    /// reader to the function's own page.
    pub fn page_for(self, function: &str) -> Cow<'static, str> {
        use Rule::{BadPointer, ContextClosed, ImportOfOwn, NullArgument, ProviderLacks, RegistrationFailed};
        let general = matches!(
            self,
            NullArgument
                | BadPointer
                | ContextClosed
                | ImportOfOwn
                | ProviderLacks
                | RegistrationFailed
                | Rule::UnimportOfOwned
                | Rule::UnimportFailedSilently
        );
        match function.trim_start_matches('_') {
            _ if !general => self.page().into(),
            // One page for the whole family.
            name if name.starts_with("ibv_reg_") => "ibv_reg_mr(3)".into(),
            name if name.starts_with("ibv_") || name.starts_with("mlx5dv_") => format!("{name}(3)").into(),
            _ => self.page().into(),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(id: &str) -> Result<Self, String> {
        let found = Rule::ALL.iter().copied().find(|rule| rule.id() == id);
        found.ok_or_else(|| format!("there is no rule '{id}': `verbsguard explain --list` names them all"))
    }
}

impl Serialize for Rule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = Cow::<str>::deserialize(deserializer)?;
        id.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_reads_back_as_its_rule() {
        for &rule in Rule::ALL {
            assert_eq!(rule.id().parse(), Ok(rule));
        }
        assert!("pd-released-thrice".parse::<Rule>().is_err());
    }

    #[test]
    fn ids_are_unique() {
        let mut ids: Vec<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), Rule::ALL.len());
    }

    #[test]
    fn general_rules_send_the_reader_to_the_function_s_page() {
        assert_eq!(Rule::NullArgument.page_for("mlx5dv_devx_umem_dereg"), "mlx5dv_devx_umem_dereg(3)");
        assert_eq!(Rule::NullArgument.page_for("ibv_reg_mr_iova2"), "ibv_reg_mr(3)");
        assert_eq!(Rule::NullArgument.page_for("exit"), Rule::NullArgument.page());
        assert_eq!(Rule::PdReleasedTwice.page_for("ibv_dealloc_pd"), "ibv_import_pd(3)");
    }

    #[test]
    fn severities_are_ordered_by_gravity() {
        assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Note);
        assert_eq!("warning".parse(), Ok(Severity::Warning));
    }
}
