//! Children of PDs and contexts in words.

use super::{CallInfo, LISTED, list, stacks};
use crate::check::Fault;
use crate::finding::{Finding, ObjectInfo};
use crate::rules::Rule;
use crate::site::Site;
use crate::track::{Child, ChildKind, Context, HolderFacts, Left, Named, Reference, Tracker};

impl Tracker {
    pub(super) fn about_left(
        &self,
        call: CallInfo,
        fault: &Fault,
        (address, context): (usize, &Context),
        left: &Left,
    ) -> Finding {
        let object = self.context_info(address, context);
        let message = format!("{object} was closed with {} in it", left.in_words());
        let mut finding = Finding::new(fault.rule, call.function, message).object(object);
        finding.count = left.counts.values().sum();
        finding.stacks = stacks(context.born.site, Site::NONE, Site::NONE);
        finding.objects.extend(left.examples.iter().map(|(at, child)| self.child_info(*at, child)));
        finding
    }

    pub(super) fn about_child(&self, call: CallInfo, fault: &Fault, address: usize, child: &Child) -> Finding {
        let object = self.child_info(address, child);
        let message = match fault.rule {
            Rule::PdOfChildReleased => format!(
                "{object} reads its PD while it is destroyed, but that PD's struct was released before: \
                 destroy children first"
            ),
            _ => format!("{object} is a {}, which {} does not take", child.kind.word(), call.function),
        };
        let mut finding = Finding::new(fault.rule, call.function, message).object(object);
        finding.stacks = stacks(child.born.site, Site::NONE, Site::NONE);
        finding
    }

    pub(super) fn busy_sentence(&self, address: usize, reference: &Reference, object: &ObjectInfo) -> String {
        let children = self.children_of(Named { address, serial: reference.serial });
        format!("{object} still has children made through it: {}", self.list_children(&children))
    }

    fn list_children(&self, children: &[(usize, Child)]) -> String {
        list(&children.iter().map(|(at, child)| self.child_info(*at, child).to_string()).collect::<Vec<_>>())
    }

    /// The children that a finding of `rule` about a PD is to show with their places.
    pub(super) fn children_told(&self, rule: Rule, address: usize, reference: &Reference) -> Vec<ObjectInfo> {
        let children = match rule {
            Rule::PdUnimportBusy => self.children_of(Named { address, serial: reference.serial }),
            Rule::PdDeallocBusy => self.children_on(reference),
            _ => return Vec::new(),
        };
        self.children_info(&children)
    }

    /// The first of some children, as a finding shows them.
    pub(super) fn children_info(&self, children: &[(usize, Child)]) -> Vec<ObjectInfo> {
        children.iter().take(LISTED).map(|(at, child)| self.child_info(*at, child)).collect()
    }

    /// What is known to hang on a PD that could not be deallocated, and what may besides.
    pub(super) fn who_keeps(&self, reference: &Reference, here: &[(usize, Child)]) -> String {
        let mut known = Vec::new();
        if !here.is_empty() {
            known.push(format!("children known here: {}", self.list_children(here)));
        }
        let elsewhere = self.children_elsewhere(reference);
        // "pid 4100 (worker) has 3 mrs".
        let words = |(who, kind, count): &(HolderFacts, ChildKind, u64)| format!("{who} has {}", kind.counted(*count));
        if !elsewhere.is_empty() {
            known.push(list(&elsewhere.iter().map(words).collect::<Vec<_>>()));
        }
        if reference.pdn_given {
            known.push("it may be a DEVX child too, for mlx5dv_init_obj told the program this PD's number".to_owned());
        }
        let mut kinds = elsewhere.iter().map(|(_, kind, _)| kind).chain(here.iter().map(|(_, child)| &child.kind));
        if !kinds.any(|kind| kind.holds_pd()) {
            known.push(
                "what keeps it is not known: another process's child, one of a context or process that is gone, or one \
                 made by a call that is not seen"
                    .to_owned(),
            );
        }
        format!("; {}", known.join("; "))
    }

    fn children_elsewhere(&self, reference: &Reference) -> Vec<(HolderFacts, ChildKind, u64)> {
        match (self.file(reference.file), reference.generation) {
            (Some(file), Some(generation)) => file.children_elsewhere(generation),
            _ => Vec::new(),
        }
    }

    pub(super) fn child_info(&self, address: usize, child: &Child) -> ObjectInfo {
        ObjectInfo {
            kind: child.kind.word().into(),
            address: address as u64,
            handle: child.handle,
            number: child.number,
            number_word: child.kind.number_word(),
            created: child.born.site.into(),
            ..ObjectInfo::default()
        }
    }
}
