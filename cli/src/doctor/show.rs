//! What was found, in words.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::examine::{Examination, Examined};
use super::system::Support;
use super::verdict::{Interception, Verdict};
use super::{Answer, Diagnosis};
use crate::look::Look;

/// The whole report.
pub fn text(diagnosis: &Diagnosis, look: &Look) -> String {
    let Diagnosis { examination, ledger, kernel, devices, .. } = diagnosis;
    let mut out = String::new();
    if let Some(program) = &examination.program {
        program_lines(&mut out, program, look);
    }
    line(&mut out, look, "guard", &examination.guard.display().to_string());
    line(&mut out, look, "auditor", &examination.auditor.display().to_string());
    library_lines(&mut out, examination, look);
    let path = ledger.path.as_ref().map_or_else(String::new, |path| format!("{}: ", path.display()));
    line(&mut out, look, "ledger", &mark(look, ledger.usable, &format!("{path}{}", ledger.state)));
    kernel_lines(&mut out, kernel, look);
    let none = "none at /dev/infiniband/uverbs*; `verbsguard run --emulate` brings one";
    line(&mut out, look, "devices", &if devices.is_empty() { none.into() } else { devices.join(", ") });
    out.push('\n');
    match &examination.program {
        Some(program) => verdict_lines(&mut out, examination, program, look),
        None => provided_lines(&mut out, examination),
    }
    conclusion(&mut out, diagnosis, look);
    out
}

fn line(out: &mut String, look: &Look, name: &str, text: &str) {
    // Padded before it is made bold: escape sequences take no room.
    let pad = " ".repeat("libibverbs  ".len().saturating_sub(name.len()));
    out.push_str(&format!("{}{pad}{text}\n", look.bold(name)));
}

fn kernel_lines(out: &mut String, kernel: &[Support], look: &Look) {
    let there: Vec<_> = kernel.iter().filter(|support| support.there).map(|support| support.name).collect();
    line(out, look, "kernel", &format!("allows {}", there.join(", ")));
    for Support { name, without, .. } in kernel.iter().filter(|support| !support.there) {
        line(out, look, "", &look.bad(&format!("does not allow {name}: {without}")));
    }
}

fn mark(look: &Look, good: bool, text: &str) -> String {
    if good { text.into() } else { look.bad(text) }
}

fn program_lines(out: &mut String, program: &Examined, look: &Look) {
    for script in &program.scripts {
        line(out, look, "script", &script.display().to_string());
    }
    let glibc = program.glibc.as_ref().map_or_else(String::new, |version| format!(" (glibc {version})"));
    line(out, look, "program", &format!("{}{glibc}", program.path.display()));
    for missing in &program.missing {
        line(out, look, "not found", &look.bad(missing));
    }
    if let Some(obstacle) = &program.obstacle {
        line(out, look, "obstacle", &look.bad(obstacle));
    }
}

fn library_lines(out: &mut String, examination: &Examination, look: &Look) {
    for name in ["libibverbs", "libmlx5"] {
        let mut found = examination.libraries.iter().filter(|library| library.name == name).peekable();
        if found.peek().is_none() {
            line(out, look, name, "not found");
        }
        for library in found {
            let version = library.rdma_core.map_or_else(String::new, |version| format!(" (rdma-core {version})"));
            line(out, look, name, &format!("{}{version}", library.path.display()));
        }
    }
}

fn verdict_lines(out: &mut String, examination: &Examination, program: &Examined, look: &Look) {
    let mut unused = 0;
    for verdict in &examination.entry_points {
        let word = verdict.interception().word();
        let shown = match verdict.interception() {
            Interception::Unused => {
                unused += 1;
                continue;
            }
            Interception::None => look.bad(word),
            _ => look.good(word),
        };
        let pad = " ".repeat("linked, audit".len() - word.len());
        let lacks = if verdict.provided == Some(false) { " (the real library lacks it)" } else { "" };
        let point = format!("{}@{}", verdict.entry().name, verdict.entry().node);
        let callers: BTreeSet<_> = verdict.linked.iter().chain(&verdict.looked_up).collect();
        out.push_str(&format!("{shown}{pad}  {point:<40}  {}{lacks}\n", names(callers)));
        miss_lines(out, verdict);
    }
    let all = examination.entry_points.len();
    out.push_str(&format!("{unused} of {all} entry points are not called by anything in sight.\n"));
    for copy in &program.hidden_copies {
        out.push_str(&format!("{} holds a copy of libibverbs; calls inside it are not intercepted.\n", copy.display()));
    }
    opener_lines(out, program);
}

fn opener_lines(out: &mut String, program: &Examined) {
    if !program.opens_verbs.is_empty() {
        out.push_str(&format!("{} opens libibverbs or libmlx5 by name.\n", names(&program.opens_verbs)));
    } else if !program.opens.is_empty() {
        let names = names(&program.opens);
        out.push_str(&format!("{names} can open libraries by name; what it opens is not seen from outside.\n"));
    }
    if !program.starts.is_empty() {
        let names = names(&program.starts);
        out.push_str(&format!("{names} can start programs; they are guarded too, and can be looked at in this way.\n"));
    }
}

fn miss_lines(out: &mut String, verdict: &Verdict) {
    for miss in &verdict.missed {
        out.push_str(&format!("    {} {}\n", name(&miss.object), miss.why));
    }
}

fn provided_lines(out: &mut String, examination: &Examination) {
    let lacking = examination.entry_points.iter().filter(|verdict| verdict.provided == Some(false));
    let lacking: Vec<_> = lacking.map(|verdict| verdict.entry().name.as_str()).collect();
    out.push_str(&format!("The guard stands before {} entry points.\n", examination.entry_points.len()));
    if !lacking.is_empty() {
        out.push_str(&format!("These libraries do not have {}.\n", lacking.join(", ")));
    }
}

fn conclusion(out: &mut String, diagnosis: &Diagnosis, look: &Look) {
    let used = diagnosis.examination.entry_points.iter();
    let used = used.filter(|verdict| verdict.interception() != Interception::Unused).count();
    if let Some(program) = &diagnosis.examination.program {
        let words = match diagnosis.intercepted {
            Answer::All if used == 0 => "It calls no verbs that the guard stands before.".into(),
            Answer::All => look.good(&format!("All {used} that it calls will be intercepted.")),
            Answer::Not => look.bad("Not everything will be intercepted."),
            Answer::Unknown if !program.missing.is_empty() => look.bad("It cannot start: a library is not found."),
            Answer::Unknown => "Whether everything will be intercepted does not show from outside.".into(),
        };
        out.push_str(&format!("{words}\n"));
    }
    if !diagnosis.advice.is_empty() {
        out.push_str(&format!("\n{}\n", look.bold("To do")));
        diagnosis.advice.iter().for_each(|advice| out.push_str(&format!("  {advice}\n")));
    }
}

fn names<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> String {
    paths.into_iter().map(|path| name(path)).collect::<Vec<_>>().join(", ")
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
