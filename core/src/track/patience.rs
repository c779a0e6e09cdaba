//! Locks that are not waited for without end.
//!
//! A handler that leaves a call of ours by siglongjmp, or a thread that is killed in one, leaves a lock taken for good. The
//! program must go on: whoever waits too long panics, which the border catches; from then on calls are only forwarded.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Far longer than anything that is done under these locks.
const PATIENCE: Duration = Duration::from_secs(5);

const STUCK: &str = "a lock was left taken by a call that never ended";

/// Takes a mutex.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.try_lock_for(PATIENCE).expect(STUCK)
}

/// Takes a lock for reading.
pub fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.try_read_for(PATIENCE).expect(STUCK)
}

/// Takes a lock for writing.
pub fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.try_write_for(PATIENCE).expect(STUCK)
}
