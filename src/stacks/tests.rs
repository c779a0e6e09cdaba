use super::*;

static LAST: AtomicU32 = AtomicU32::new(0);

#[inline(never)]
fn note() {
    LAST.store(capture(&Cell::new(Entry::NONE)).0, Ordering::Relaxed);
}

/// The call is all there is on its line, so the address that it returns to belongs to the next one.
#[inline(never)]
fn teardown() -> (Site, u32) {
    note();
    std::hint::black_box(LAST.load(Ordering::Relaxed));
    (Site(LAST.load(Ordering::Relaxed)), line!() - 2)
}

fn walk(entry: Entry, addresses: &mut [usize], skip: std::ops::Range<usize>) -> usize {
    unwind::walk(entry, addresses, skip, &mut Trail::new())
}

fn names(site: Site) -> Vec<String> {
    Resolver.resolve(site).into_iter().filter_map(|frame| frame.function).collect()
}

#[test]
fn a_stack_names_function_and_line() {
    let (site, line) = teardown();
    let frames = Resolver.resolve(site);
    let ours = frames.iter().find(|frame| frame.function.as_deref().is_some_and(|name| name.ends_with("::teardown")));
    let source = ours.and_then(|frame| frame.source.clone()).unwrap_or_default();
    assert!(source.ends_with(&format!("src/stacks/tests.rs:{line}")), "{frames:#?}");
    assert!(names(site).iter().any(|name| name.ends_with("a_stack_names_function_and_line")), "{frames:#?}");
}

#[test]
fn one_place_is_one_site() {
    let mut sites: Vec<_> = (0..3).map(|_| capture(&Cell::new(Entry::NONE))).collect();
    sites.push(capture(&Cell::new(Entry::NONE)));
    assert_ne!(sites[0], Site::NONE);
    assert_eq!(sites[0], sites[2]);
    assert_ne!(sites[0], sites[3]);
}

#[test]
fn all_threads_agree_on_a_site() {
    let stacks: Vec<Vec<usize>> = (1..200).map(|n| vec![n, n + 1, 1_000_000 + n]).collect();
    let sites = |_| stacks.iter().map(|stack| intern(stack)).collect::<Vec<_>>();
    let all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|number| scope.spawn(move || sites(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
    let mut different = all[0].clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), stacks.len());
}

#[test]
fn addresses_outside_modules_are_shown_as_they_are() {
    let frames = Resolver.resolve(intern(&[0x10, 0x20]));
    let shown: Vec<_> = frames.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["0x10", "0x20"]);
}

#[test]
fn frames_to_skip_are_left_out_from_the_top_only() {
    let mut all = [0; 8];
    let len = walk(Entry::NONE, &mut all, 0..0);
    let ours = modules::of(&all[..len]);
    assert!(ours.iter().all(Option::is_some), "this test needs a readable stack");
    // The walk itself differs by its call's address; what is below is the same.
    let mut some = [0; 8];
    let top = all[0];
    assert!(walk(Entry::NONE, &mut some, top - 64..top + 4096) > 0);
    assert!(!(top - 64..top + 4096).contains(&some[0]));
    let mut none = [0; 8];
    assert_eq!(walk(Entry::NONE, &mut none, 0..usize::MAX), 0);
}

#[test]
fn no_more_frames_than_asked_for() {
    let mut two = [0; 2];
    assert_eq!(walk(Entry::NONE, &mut two, 0..0), 2);
    assert_eq!(walk(Entry::NONE, &mut [], 0..0), 0);
}

#[test]
fn nothing_has_no_frames() {
    assert_eq!(intern(&[]), Site::NONE);
    assert!(Resolver.resolve(Site::NONE).is_empty() && Resolver.resolve(Site(u32::MAX)).is_empty());
}
