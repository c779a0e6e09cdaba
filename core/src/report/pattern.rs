//! Path patterns of `log=`.

/// What a pattern's marks stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// %p
    pub pid: u32,
    /// %h
    pub host: String,
    /// %c
    pub comm: String,
    /// %r: the rank in the job, from the first of [`Place::RANKS`] that is set.
    pub rank: Option<String>,
}

impl Place {
    /// The environment variables that hold a rank, in the order in which they are asked.
    pub const RANKS: [&str; 4] = ["PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK"];
}

/// Whether a pattern holds known marks only.
pub fn check_pattern(pattern: &str) -> Result<(), String> {
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            continue;
        }
        match rest.next() {
            Some('p' | 'h' | 'c' | 'r' | '%') => {}
            Some(mark) => return Err(format!("%{mark} means nothing: use %p, %h, %c, %r or %%")),
            None => return Err("the % at the end means nothing: use %p, %h, %c, %r or %%".into()),
        }
    }
    Ok(())
}

/// The path that a pattern stands for in this process. A process without a rank has the rank "none".
pub fn expand(pattern: &str, place: &Place) -> String {
    let mut path = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match (c, if c == '%' { rest.next() } else { None }) {
            ('%', Some('p')) => path.push_str(&place.pid.to_string()),
            ('%', Some('h')) => push_name(&mut path, &place.host),
            ('%', Some('c')) => push_name(&mut path, &place.comm),
            ('%', Some('r')) => push_name(&mut path, place.rank.as_deref().unwrap_or("none")),
            (c, _) => path.push(c),
        }
    }
    path
}

/// A name must not lead into another folder.
fn push_name(path: &mut String, name: &str) {
    path.extend(name.chars().map(|c| if c == '/' || c.is_control() { '_' } else { c }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { pid: 42, host: "n1".into(), comm: "a/../b".into(), rank: Some("3".into()) }
    }

    #[test]
    fn marks_are_replaced() {
        assert_eq!(expand("/l/%h.%r.%p", &place()), "/l/n1.3.42");
        assert_eq!(expand("100%%", &place()), "100%");
        assert_eq!(expand("%r", &Place::default()), "none");
    }

    #[test]
    fn a_command_name_stays_in_the_folder() {
        assert_eq!(expand("/l/%c", &place()), "/l/a_.._b");
    }

    #[test]
    fn unknown_marks_are_refused() {
        assert_eq!(check_pattern("/l/%p%h%c%r%%"), Ok(()));
        assert!(check_pattern("/l/%d").is_err() && check_pattern("/l/%").is_err());
    }
}
