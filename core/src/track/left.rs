//! What is left in a context that was closed, by type.

use std::collections::BTreeMap;

use super::{Child, ChildKind, Context, ContextId, Subject, Tracker};
use crate::check::Fault;
use crate::rules::{Rule, Severity};

/// How many examples are kept.
const EXAMPLES: usize = 8;

/// Children that were alive when their context was closed.
#[derive(Clone, Default, Debug)]
pub struct Left {
    /// How many of each type.
    pub counts: BTreeMap<ChildKind, u64>,
    /// The first ones, with addresses.
    pub examples: Vec<(usize, Child)>,
}

impl Left {
    fn of(mut children: Vec<(usize, Child)>) -> Left {
        let mut counts = BTreeMap::new();
        for (_, child) in &children {
            *counts.entry(child.kind).or_default() += 1;
        }
        children.sort_by_key(|(_, child)| child.serial);
        children.truncate(EXAMPLES);
        Left { counts, examples: children }
    }

    /// "2 qps, 1 cq".
    pub fn in_words(&self) -> String {
        let words: Vec<_> = self.counts.iter().map(|(kind, count)| kind.counted(*count)).collect();
        words.join(", ")
    }
}

impl Tracker {
    /// Forgets the children of a context: the kernel takes them with it, or keeps them where nobody can name them.
    pub(super) fn drop_children_of(&self, context: ContextId) -> Left {
        let mut gone = Vec::new();
        for mut shard in self.table.shards() {
            shard.retain_children(|address, child| {
                let stays = child.context != context;
                if !stays {
                    gone.push((address, child.clone()));
                }
                stays
            });
        }
        for (_, child) in &gone {
            self.uncount(child);
        }
        Left::of(gone)
    }

    /// What there is to say about that. Nothing of a context that a forked child has from its parent: what is in there is
    /// the parent's.
    pub(super) fn judge_left(&self, address: usize, context: Context, left: Left) -> Vec<(Fault, Subject)> {
        if left.counts.is_empty() || context.inherited {
            return Vec::new();
        }
        let fault = Fault::forwarded(Rule::ChildrenLeft, Severity::Note);
        self.counted(vec![(fault, Subject::Left(address, Box::new(context), Box::new(left)))])
    }
}
