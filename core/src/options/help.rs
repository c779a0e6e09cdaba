//! The table of keys for people: `help=1` and the manual page.

use super::KEYS;

const MANUAL_HEAD: &str = r#".\" Made from core/src/options/keys.rs by core/tests/generated.rs.
.Dd November 29, 2026
.Dt VERBSGUARD-OPTIONS 7
.Os
.Sh NAME
.Nm verbsguard-options
.Nd options of the verbsguard library
.Sh SYNOPSIS
.Ev VERBSGUARD_OPTIONS Ns = Ns Ar key Ns = Ns Ar value : Ns Ar key Ns = Ns Ar value
.Sh DESCRIPTION
The library reads its options from the environment variable
.Ev VERBSGUARD_OPTIONS
when the program first calls it.
A value that holds a colon is put in single or double quotes.
A key that is not known, or a value that does not fit, is told once, and the other options hold.
Programs that run with the rights of another user (setuid, setgid) ignore the variable.
.Pp
A program may bring defaults of its own by defining
.Bd -literal -offset indent
const char *verbsguard_default_options(void);
.Ed
.Pp
The keys, with their values, the default one first:
.Bl -tag -width Ds
"#;

const MANUAL_TAIL: &str = r#".El
.Sh EXAMPLES
Write JSON Lines into one file for each process, and stop at the first error:
.Pp
.Dl VERBSGUARD_OPTIONS="mode=abort:format=json:log=/tmp/verbsguard.%p" LD_PRELOAD=libverbsguard.so.0 ./app
.Sh SEE ALSO
.Xr verbsguard 1 ,
.Xr verbsguard-run 1
"#;

/// The manual page verbsguard-options(7).
pub fn manual() -> String {
    let mut page = String::from(MANUAL_HEAD);
    for key in KEYS {
        page.push_str(&format!(".It Cm {} Ns = Ns {}\n", key.name, key.values));
        // One sentence a line, as manual pages have it.
        key.help.split_inclusive(". ").for_each(|sentence| page.push_str(&format!("{}\n", sentence.trim_end())));
    }
    page.push_str(MANUAL_TAIL);
    page
}

/// What `help=1` prints.
pub fn help() -> String {
    let mut text = String::from("verbsguard: VERBSGUARD_OPTIONS=key=value:key=value (the default value first)\n");
    for key in KEYS {
        text.push_str(&format!("  {}={}\n", key.name, key.values));
        for line in crate::report::fill(key.help, 96).lines() {
            text.push_str(&format!("      {line}\n"));
        }
    }
    text
}
