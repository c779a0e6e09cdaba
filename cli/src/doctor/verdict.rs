//! Which entry points of a program will be intercepted. Pure: from what was read to what it means.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use super::elf::Elf;
use super::loader::Binding;

/// A function that the guard stands before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct EntryPoint {
    /// Its name.
    pub name: String,
    /// Its version node.
    pub node: String,
}

impl EntryPoint {
    /// The real library, by the first part of its file name.
    pub fn library(&self) -> &'static str {
        if self.node.starts_with("MLX5_") { "libmlx5" } else { "libibverbs" }
    }
}

/// How a call comes to the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interception {
    /// It is linked, and the preloaded guard wins.
    Linked,
    /// It is looked up by name, and the auditor answers.
    Audit,
    /// Both.
    LinkedAndAudit,
    /// Not at all, or not everywhere.
    None,
    /// Nothing in sight calls it.
    Unused,
}

impl Interception {
    /// As it is printed.
    pub fn word(self) -> &'static str {
        match self {
            Interception::Linked => "linked",
            Interception::Audit => "audit",
            Interception::LinkedAndAudit => "linked, audit",
            Interception::None => "not at all",
            Interception::Unused => "unused",
        }
    }
}

impl Serialize for Interception {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// A place from which an entry point is not intercepted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Miss {
    /// The program or library.
    pub object: PathBuf,
    /// Why.
    pub why: String,
}

/// One entry point's fate.
#[derive(Debug, Serialize)]
pub struct Verdict {
    #[serde(flatten)]
    entry: EntryPoint,
    /// Whether the real library has it; None where there is no such library.
    pub provided: Option<bool>,
    interception: Interception,
    /// Who calls it by linking.
    pub linked: BTreeSet<PathBuf>,
    /// Who looks it up by name.
    pub looked_up: BTreeSet<PathBuf>,
    /// From where it is not intercepted.
    pub missed: BTreeSet<Miss>,
}

impl Verdict {
    /// The entry point.
    pub fn entry(&self) -> &EntryPoint {
        &self.entry
    }

    /// How it is intercepted.
    pub fn interception(&self) -> Interception {
        self.interception
    }
}

/// What is known of a program.
#[derive(Debug, Default)]
pub struct Facts {
    /// The guard.
    pub guard: PathBuf,
    /// Where the loader binds verbs calls, with the guard preloaded.
    pub bindings: Vec<Binding>,
    /// The program and the libraries that it starts with.
    pub objects: BTreeMap<PathBuf, Elf>,
    /// Why nothing is intercepted, whatever it is.
    pub obstacle: Option<String>,
    /// Why the auditor will not answer.
    pub no_audit: Option<String>,
    /// What the real libraries export, for each that was found.
    pub real: BTreeMap<&'static str, BTreeSet<(String, String)>>,
}

/// Whether a file is libibverbs or libmlx5 by its name, and which; also a copy that a wheel brings along.
pub fn verbs_library(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    ["libibverbs", "libmlx5"].into_iter().find(|stem| {
        let rest = name.strip_prefix(stem);
        rest.is_some_and(|rest| rest.starts_with(['.', '-']))
    })
}

impl Facts {
    /// The fate of one entry point.
    pub fn verdict(&self, entry: &EntryPoint) -> Verdict {
        let provided = self.real.get(entry.library());
        let mut verdict = Verdict {
            entry: entry.clone(),
            provided: provided.map(|exports| exports.contains(&(entry.name.clone(), entry.node.clone()))),
            interception: Interception::Unused,
            linked: BTreeSet::new(),
            looked_up: BTreeSet::new(),
            missed: BTreeSet::new(),
        };
        self.bind(entry, &mut verdict);
        self.look_up(entry, &mut verdict);
        verdict.interception = match (&verdict.linked, &verdict.looked_up) {
            _ if !verdict.missed.is_empty() => Interception::None,
            (linked, looked_up) if linked.is_empty() && looked_up.is_empty() => Interception::Unused,
            (_, looked_up) if looked_up.is_empty() => Interception::Linked,
            (linked, _) if linked.is_empty() => Interception::Audit,
            _ => Interception::LinkedAndAudit,
        };
        verdict
    }

    /// Calls that the loader binds.
    fn bind(&self, entry: &EntryPoint, verdict: &mut Verdict) {
        let calls = |binding: &&Binding| binding.symbol == entry.name && self.is_callers(&binding.from);
        for Binding { from, to, node, .. } in self.bindings.iter().filter(calls) {
            let mut miss = |why| verdict.missed.insert(Miss { object: from.clone(), why });
            match node {
                _ if let Some(obstacle) = &self.obstacle => drop(miss(obstacle.clone())),
                Some(node) if *node != entry.node => drop(miss(format!("calls the one of {node}, which is another"))),
                _ if *to == self.guard => drop(verdict.linked.insert(from.clone())),
                _ => drop(miss(format!("is bound to {}", to.display()))),
            }
        }
    }

    /// Names that are looked up, and functions that are linked in.
    fn look_up(&self, entry: &EntryPoint, verdict: &mut Verdict) {
        for (path, elf) in self.objects.iter().filter(|(path, _)| self.is_callers(path)) {
            let mut miss = |why| verdict.missed.insert(Miss { object: path.clone(), why });
            if elf.own.contains(&entry.name) || elf.exports.iter().any(|(name, _)| *name == entry.name) {
                miss("holds a function of this name itself".into());
            }
            match self.obstacle.as_ref().or(self.no_audit.as_ref()) {
                _ if !elf.asks || !elf.names.contains(&entry.name) => {}
                Some(why) => drop(miss(format!("looks it up by name, and {why}"))),
                None => drop(verdict.looked_up.insert(path.clone())),
            }
        }
    }

    /// Not rdma-core's own calls, nor ours.
    fn is_callers(&self, path: &Path) -> bool {
        verbs_library(path).is_none() && path != self.guard
    }

    /// Libraries and programs that hold a copy of libibverbs that nobody stands before, though it is stripped.
    pub fn hidden_copies(&self) -> impl Iterator<Item = &PathBuf> {
        self.objects.iter().filter(|(path, elf)| elf.is_verbs && self.is_callers(path)).map(|(path, _)| path)
    }

    /// Whoever looks verbs functions up by name.
    pub fn askers(&self) -> impl Iterator<Item = &PathBuf> {
        let asks = |(path, elf): &(&PathBuf, &Elf)| elf.asks && !elf.names.is_empty() && self.is_callers(path);
        self.objects.iter().filter(asks).map(|(path, _)| path)
    }

    /// Whoever opens rdma-core for itself.
    pub fn openers(&self) -> impl Iterator<Item = &PathBuf> {
        let opens = |(path, elf): &(&PathBuf, &Elf)| elf.opens && elf.names_library && self.is_callers(path);
        self.objects.iter().filter(opens).map(|(path, _)| path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        let real = BTreeMap::from([("libibverbs", BTreeSet::from([pair("ibv_alloc_pd", "IBVERBS_1.1")]))]);
        Facts { guard: "/g/libverbsguard.so.0".into(), real, ..Facts::default() }
    }

    fn pair(name: &str, node: &str) -> (String, String) {
        (name.into(), node.into())
    }

    fn alloc_pd() -> EntryPoint {
        EntryPoint { name: "ibv_alloc_pd".into(), node: "IBVERBS_1.1".into() }
    }

    fn binding(from: &str, to: &str, node: &str) -> Binding {
        Binding { from: from.into(), to: to.into(), symbol: "ibv_alloc_pd".into(), node: Some(node.into()) }
    }

    fn asking() -> Elf {
        Elf { asks: true, names: BTreeSet::from(["ibv_alloc_pd".into()]), ..Elf::default() }
    }

    fn decided(facts: &Facts) -> (Interception, Vec<String>) {
        let verdict = facts.verdict(&alloc_pd());
        (verdict.interception, verdict.missed.into_iter().map(|miss| miss.why).collect())
    }

    #[test]
    fn a_call_that_the_guard_wins_is_linked() {
        let mut facts = facts();
        facts.bindings.push(binding("/app", "/g/libverbsguard.so.0", "IBVERBS_1.1"));
        assert_eq!(decided(&facts), (Interception::Linked, vec![]));
        facts.objects.insert("/lib/libnccl.so.2".into(), asking());
        assert_eq!(decided(&facts), (Interception::LinkedAndAudit, vec![]));
    }

    #[test]
    fn a_call_that_another_library_wins_is_missed() {
        let mut facts = facts();
        facts.bindings.push(binding("/app", "/g/libverbsguard.so.0", "IBVERBS_1.1"));
        facts.bindings.push(binding("/lib/libb.so", "/lib/libibverbs.so.1", "IBVERBS_1.1"));
        assert_eq!(decided(&facts), (Interception::None, vec!["is bound to /lib/libibverbs.so.1".into()]));
    }

    #[test]
    fn the_old_function_is_another_one() {
        let mut facts = facts();
        facts.bindings.push(binding("/app", "/lib/libibverbs.so.1", "IBVERBS_1.0"));
        assert_eq!(
            decided(&facts),
            (Interception::None, vec!["calls the one of IBVERBS_1.0, which is another".into()])
        );
    }

    #[test]
    fn names_count_where_they_are_looked_up() {
        let mut facts = facts();
        facts.objects.insert("/app".into(), Elf { asks: false, ..asking() });
        assert_eq!(decided(&facts).0, Interception::Unused);
        facts.objects.insert("/app".into(), asking());
        assert_eq!(decided(&facts).0, Interception::Audit);
        facts.no_audit = Some("glibc is too old".into());
        assert_eq!(decided(&facts), (Interception::None, vec!["looks it up by name, and glibc is too old".into()]));
    }

    #[test]
    fn what_rdma_core_does_itself_is_no_use() {
        let mut facts = facts();
        facts.bindings.push(binding("/w/libmlx5-39d9eaa1.so.1.25.0", "/lib/libibverbs.so.1", "IBVERBS_1.1"));
        let exports = BTreeSet::from([pair("ibv_alloc_pd", "IBVERBS_1.1")]);
        facts.objects.insert("/w/libibverbs-1.so".into(), Elf { exports, is_verbs: true, ..asking() });
        assert_eq!(decided(&facts).0, Interception::Unused);
        assert_eq!(facts.hidden_copies().count(), 0);
    }

    #[test]
    fn a_copy_that_is_linked_in_is_missed() {
        let mut facts = facts();
        let own = BTreeSet::from(["ibv_alloc_pd".into()]);
        facts.objects.insert("/app".into(), Elf { own, is_verbs: true, ..Elf::default() });
        assert_eq!(decided(&facts), (Interception::None, vec!["holds a function of this name itself".into()]));
        assert!(facts.hidden_copies().eq([Path::new("/app")]));
    }

    #[test]
    fn what_the_real_library_lacks_is_told() {
        let mut facts = facts();
        assert_eq!(facts.verdict(&alloc_pd()).provided, Some(true));
        let entry = |name: &str, node: &str| EntryPoint { name: name.into(), node: node.into() };
        assert_eq!(facts.verdict(&entry("ibv_import_pd", "IBVERBS_1.10")).provided, Some(false));
        assert_eq!(facts.verdict(&entry("mlx5dv_devx_umem_reg", "MLX5_1.7")).provided, None);
        facts.real.clear();
        assert_eq!(facts.verdict(&alloc_pd()).provided, None);
    }
}
