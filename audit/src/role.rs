//! What a library is to the auditor, by its soname.

/// What a library is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The guard.
    Guard,
    /// libibverbs or libmlx5, also a copy that a wheel brings along (`libibverbs-1a2b3c4d.so.1.15.65.0`).
    Verbs,
    /// Anything else.
    Other,
}

impl Role {
    /// The role of the library with this soname.
    pub fn of(soname: impl Iterator<Item = u8> + Clone) -> Role {
        let is = |stem: &[u8]| {
            let mut rest = soname.clone();
            // Not libmlx5_something, nor libibverbs2: another library may begin like ours.
            stem.iter().all(|byte| rest.next() == Some(*byte)) && matches!(rest.next(), Some(b'.' | b'-'))
        };
        if is(b"libibverbs") || is(b"libmlx5") {
            Role::Verbs
        } else if is(b"libverbsguard") {
            Role::Guard
        } else {
            Role::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Role;

    #[test]
    fn libraries_are_known_by_their_sonames() {
        let role = |soname: &str| Role::of(soname.bytes());
        for verbs in ["libibverbs.so.1", "libmlx5.so.1", "libibverbs-39d9eaa1.so.1.14.50.0", "libmlx5-rdmav34.so"] {
            assert_eq!(role(verbs), Role::Verbs, "{verbs}");
        }
        assert_eq!(role("libverbsguard.so.0"), Role::Guard);
        for other in
            ["", "libibverbs", "libibverbs2.so", "libmlx5_vdpa.so", "libmlx4.so.1", "libverbsguard", "libc.so.6"]
        {
            assert_eq!(role(other), Role::Other, "{other}");
        }
    }
}
