use super::*;

fn good(text: &str) -> Options {
    let (options, complaints) = Options::parse(&[text]);
    assert!(complaints.is_empty(), "{complaints:?}");
    options
}

fn complaints(text: &str) -> Vec<String> {
    Options::parse(&[text]).1
}

#[test]
fn nothing_said_is_the_contract_s_defaults() {
    let options = good("");
    assert_eq!((options.mode, options.leaks, options.exitcode), (Mode::Guard, Leaks::Lost, 0));
    assert_eq!((options.log, options.format, options.ledger), (Log::Stderr, Format::Text, Ledger::Auto));
    assert_eq!((options.stack, options.limit), (16, 10));
    assert!(!options.verbose && !options.breakpoint && !options.gen_suppressions && !options.help);
}

#[test]
fn every_key_sets_its_field() {
    let options = good(
        "mode=strict:leaks=all:exitcode=23:log=/tmp/v.%p:format=json:ledger=off:stack=0:limit=0:suppressions=s:\
         libibverbs=/a/libibverbs.so.1:libmlx5=/a/libmlx5.so.1:backport=0:coordinate=off:verbose=1:\
         disable=pd-dealloc-busy,import-of-own:severity=wrong-kind=note:break=1:gen_suppressions=yes:only=app*,b:\
         dump_signal=SIGUSR2:help=1",
    );
    assert_eq!((options.mode, options.leaks, options.exitcode), (Mode::Strict, Leaks::All, 23));
    assert_eq!(options.log, Log::Path("/tmp/v.%p".into()));
    assert_eq!((options.format, options.stack, options.limit), (Format::Json, 0, 0));
    assert_eq!(options.ledger, Ledger::Off);
    assert_eq!(options.suppressions, Some("s".into()));
    assert_eq!(options.libibverbs, Some("/a/libibverbs.so.1".into()));
    assert_eq!(options.libmlx5, Some("/a/libmlx5.so.1".into()));
    assert_eq!(options.disable, [Rule::PdDeallocBusy, Rule::ImportOfOwn]);
    assert_eq!(options.severity, [(Rule::WrongKind, Severity::Note)]);
    assert!(options.verbose && options.breakpoint && options.gen_suppressions && options.help);
    assert_eq!(options.dump_signal, Some(libc::SIGUSR2));
    assert!(options.covers("app7") && options.covers("b") && !options.covers("bash"));
}

#[test]
fn quotes_keep_colons_as_sanitizers_take_them() {
    let options = good("log='/tmp/a:b.%p':mode=observe");
    assert_eq!(options.log, Log::Path("/tmp/a:b.%p".into()));
    assert_eq!(options.mode, Mode::Observe);
    assert_eq!(good("ledger=\"/x:y\"").ledger, Ledger::Dir("/x:y".into()));
}

#[test]
fn a_bad_part_is_told_once_and_the_rest_applies() {
    let (options, told) =
        Options::parse(&["mood=strict:mood=strict:stack=4", "mode=lax:limit=-1:exitcode=256:leaks=all"]);
    assert_eq!((options.stack, options.mode, options.limit, options.leaks), (4, Mode::Guard, 10, Leaks::All));
    assert_eq!(
        told,
        [
            "there is no option 'mood' (help=1 lists them)",
            "option 'mode': 'lax' is none of guard, observe, strict, abort",
            "option 'limit': '-1' is no number from 0 to 18446744073709551615",
            "option 'exitcode': '256' is no number from 0 to 255",
        ]
    );
}

#[test]
fn odd_strings_do_no_harm() {
    assert_eq!(complaints("verbose"), ["option 'verbose' has no value: write verbose=VALUE"]);
    assert_eq!(complaints("log='/tmp/x").len(), 1);
    assert!(complaints("log='/tmp/x'y:mode=strict")[0].contains("closing quote"));
    assert_eq!(complaints("log=/tmp/%q"), ["option 'log': %q means nothing: use %p, %h, %c, %r or %%"]);
    assert_eq!(complaints("=:==:'':\u{1f600}=\u{1f600}").len(), 3);
    assert!(complaints(":::  :\n").is_empty());
}

#[test]
fn a_bad_item_does_not_spoil_a_list() {
    let (options, told) = Options::parse(&["disable=wrong-kind,wrong-mind:severity=wrong-kind=grave"]);
    assert_eq!(options.disable, [Rule::WrongKind]);
    assert!(told[0].contains("wrong-mind") && told[1].contains("grave"), "{told:?}");
}

#[test]
fn what_is_not_built_says_so_when_asked_for() {
    let (options, told) = Options::parse(&["backport=1:coordinate=defer"]);
    assert_eq!(options.mode, Mode::Guard);
    assert_eq!(told[0], "option 'backport': not available in this version; it is left off");
    assert_eq!(told.len(), 2);
}

#[test]
fn the_environment_overrides_the_program() {
    let (options, _) = Options::parse(&["mode=abort:stack=2", "mode=observe"]);
    assert_eq!((options.mode, options.stack), (Mode::Observe, 2));
}

#[test]
fn files_are_included_and_may_not_loop() {
    let folder = std::env::temp_dir().join(format!("verbsguard-options-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let file = folder.join("options");
    let name = file.display();
    std::fs::write(&file, format!("# ours\n\nmode = strict\nlog='/tmp/a:b'\nnonsense\ninclude={name}\n"))
        .expect("a temporary file");
    let (options, told) = Options::parse(&[&format!("include={name}:stack=3")]);
    std::fs::remove_dir_all(&folder).expect("removed");
    assert_eq!((options.mode, options.stack), (Mode::Strict, 3));
    assert_eq!(options.log, Log::Path("/tmp/a:b".into()));
    assert!(told.iter().any(|line| line.contains("nonsense")), "{told:?}");
    assert!(told.iter().any(|line| line.contains("more than 8 files")), "{told:?}");
    assert_eq!(complaints("include=/nowhere/at/all").len(), 1);
}

#[test]
fn severities_and_disabled_rules_are_asked_here() {
    let options = good("disable=wrong-kind:severity=null-argument=warning");
    assert_eq!(options.severity_of(Rule::WrongKind, Severity::Error), None);
    assert_eq!(options.severity_of(Rule::NullArgument, Severity::Note), Some(Severity::Warning));
    assert_eq!(options.severity_of(Rule::BadPointer, Severity::Note), Some(Severity::Note));
}

#[test]
fn help_names_every_key() {
    let text = help();
    for key in KEYS {
        assert!(text.contains(&format!("\n  {}=", key.name)), "{}", key.name);
    }
    assert!(text.lines().all(|line| line.chars().count() <= 120));
}
