//! File locks on a device node, as on a character device: fcntl's classic locks of a process and those of an open file
//! description (fcntl_locking(2)).
//!
//! Not faithful: a process's classic locks end when it unlocks them or ends, not when it closes some descriptor.

use verbsguard_emu_proto::Flock;

/// Who has a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// An open file description: a device file.
    Description(u64),
    /// A process.
    Process(u32),
}

/// A lock on a range of bytes, both ends included.
#[derive(Clone, Copy, Debug)]
struct Lock {
    owner: Owner,
    write: bool,
    start: i64,
    end: i64,
}

/// All locks on a node.
#[derive(Clone, Debug, Default)]
pub struct Locks(Vec<Lock>);

/// What a request wants.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    owner: Owner,
    kind: i32,
    start: i64,
    end: i64,
}

impl Wish {
    /// Reads a `struct flock`; a device has no size and no position.
    pub fn read(owner: Owner, flock: &Flock) -> Result<Wish, i32> {
        let [kind, _, start, len, _] = flock.map(u64::cast_signed);
        let kind = i32::try_from(kind).map_err(|_| libc::EINVAL)?;
        if ![libc::F_RDLCK, libc::F_WRLCK, libc::F_UNLCK].contains(&kind) {
            return Err(libc::EINVAL);
        }
        let (start, end) = match len {
            0 => (start, i64::MAX),
            1.. => (start, start.checked_add(len - 1).ok_or(libc::EOVERFLOW)?),
            _ => (start.checked_add(len).ok_or(libc::EINVAL)?, start - 1),
        };
        if start < 0 {
            return Err(libc::EINVAL);
        }
        Ok(Wish { owner, kind, start, end })
    }

    /// Whether a descriptor opened with these flags may have such a lock.
    pub fn fits(&self, flags: i32) -> bool {
        match (self.kind, flags & libc::O_ACCMODE) {
            (libc::F_RDLCK, mode) => mode != libc::O_WRONLY,
            (libc::F_WRLCK, mode) => mode != libc::O_RDONLY,
            _ => true,
        }
    }

    fn conflicts(&self, lock: &Lock) -> bool {
        let overlaps = lock.start <= self.end && self.start <= lock.end;
        overlaps && lock.owner != self.owner && (lock.write || self.kind == libc::F_WRLCK)
    }
}

impl Locks {
    /// F_SETLK: EAGAIN where another owner is in the way.
    pub fn set(&mut self, wish: Wish) -> Result<(), i32> {
        self.forget_dead();
        if wish.kind != libc::F_UNLCK && self.0.iter().any(|lock| wish.conflicts(lock)) {
            return Err(libc::EAGAIN);
        }
        let mut kept = Vec::with_capacity(self.0.len() + 1);
        for lock in self.0.drain(..) {
            if lock.owner != wish.owner || lock.end < wish.start || wish.end < lock.start {
                kept.push(lock);
                continue;
            }
            if lock.start < wish.start {
                kept.push(Lock { end: wish.start - 1, ..lock });
            }
            if lock.end > wish.end {
                kept.push(Lock { start: wish.end + 1, ..lock });
            }
        }
        if wish.kind != libc::F_UNLCK {
            let write = wish.kind == libc::F_WRLCK;
            kept.push(Lock { owner: wish.owner, write, start: wish.start, end: wish.end });
        }
        self.0 = kept;
        Ok(())
    }

    /// F_GETLK: a lock of another owner that is in the way, else one of type F_UNLCK.
    pub fn get(&mut self, wish: Wish, asked: &Flock) -> Flock {
        self.forget_dead();
        match self.0.iter().find(|lock| wish.conflicts(lock)) {
            None => {
                let mut free = *asked;
                free[0] = libc::F_UNLCK as u64;
                free
            }
            Some(lock) => {
                let kind = if lock.write { libc::F_WRLCK } else { libc::F_RDLCK };
                let len = if lock.end == i64::MAX { 0 } else { lock.end - lock.start + 1 };
                let pid = match lock.owner {
                    Owner::Description(_) => -1,
                    Owner::Process(pid) => i64::from(pid),
                };
                [i64::from(kind), 0, lock.start, len, pid].map(i64::cast_unsigned)
            }
        }
    }

    /// The device files that have locks.
    pub fn descriptions(&self) -> Vec<u64> {
        let of = |lock: &Lock| match lock.owner {
            Owner::Description(ufile) => Some(ufile),
            Owner::Process(_) => None,
        };
        self.0.iter().filter_map(of).collect()
    }

    /// A device file is gone.
    pub fn drop_description(&mut self, ufile: u64) {
        self.0.retain(|lock| lock.owner != Owner::Description(ufile));
    }

    /// Processes that ended have no locks.
    fn forget_dead(&mut self) {
        self.0.retain(|lock| match lock.owner {
            Owner::Description(_) => true,
            Owner::Process(pid) => std::path::Path::new("/proc").join(pid.to_string()).exists(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Owner = Owner::Description(1);
    const TWO: Owner = Owner::Description(2);

    fn wish(owner: Owner, kind: i32, start: i64, len: i64) -> (Wish, Flock) {
        let flock = [i64::from(kind), 0, start, len, 0].map(i64::cast_unsigned);
        (Wish::read(owner, &flock).unwrap(), flock)
    }

    fn set(locks: &mut Locks, owner: Owner, kind: i32, start: i64, len: i64) -> Result<(), i32> {
        locks.set(wish(owner, kind, start, len).0)
    }

    #[test]
    fn another_description_is_kept_out_and_the_same_is_not() {
        let mut locks = Locks::default();
        assert_eq!(set(&mut locks, ONE, libc::F_WRLCK, 10, 1), Ok(()));
        assert_eq!(set(&mut locks, TWO, libc::F_WRLCK, 10, 1), Err(libc::EAGAIN));
        assert_eq!(set(&mut locks, TWO, libc::F_WRLCK, 11, 1), Ok(()));
        assert_eq!(set(&mut locks, ONE, libc::F_WRLCK, 10, 1), Ok(()));
        locks.drop_description(1);
        assert_eq!(set(&mut locks, TWO, libc::F_WRLCK, 10, 1), Ok(()));
    }

    #[test]
    fn a_process_sees_its_own_description_s_lock() {
        let mut locks = Locks::default();
        set(&mut locks, ONE, libc::F_WRLCK, 10, 1).unwrap();
        let (asking, asked) = wish(Owner::Process(std::process::id()), libc::F_WRLCK, 0, 0);
        assert_eq!(locks.get(asking, &asked)[2..], [10, 1, u64::MAX]);
        let (asking, asked) = wish(ONE, libc::F_WRLCK, 0, 0);
        assert_eq!(locks.get(asking, &asked)[0], libc::F_UNLCK as u64);
    }

    #[test]
    fn unlocking_the_middle_leaves_both_ends() {
        let mut locks = Locks::default();
        set(&mut locks, ONE, libc::F_WRLCK, 0, 30).unwrap();
        set(&mut locks, ONE, libc::F_UNLCK, 10, 10).unwrap();
        assert_eq!(set(&mut locks, TWO, libc::F_WRLCK, 10, 10), Ok(()));
        assert_eq!(set(&mut locks, TWO, libc::F_WRLCK, 9, 1), Err(libc::EAGAIN));
        assert_eq!(set(&mut locks, TWO, libc::F_WRLCK, 20, 1), Err(libc::EAGAIN));
    }

    #[test]
    fn readers_share() {
        let mut locks = Locks::default();
        set(&mut locks, ONE, libc::F_RDLCK, 0, 1).unwrap();
        assert_eq!(set(&mut locks, TWO, libc::F_RDLCK, 0, 1), Ok(()));
        assert_eq!(set(&mut locks, ONE, libc::F_WRLCK, 0, 1), Err(libc::EAGAIN));
    }
}
