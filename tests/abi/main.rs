//! The ABI gate: what was linked is what was promised, and what the guard believes of rdma-core is so.

mod linked;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use verbsguard_core::coverage;
use verbsguard_tests::rdma_core::{RdmaCore, VERSIONS};
use verbsguard_tests::{Outcome, built, header, output_of, project};

/// Fails with a diff where `built` differs from the committed list.
fn compare_with_list(list: &str, built: &str) {
    let path = project().join("tests/abi").join(list);
    let committed = fs::read_to_string(&path).unwrap_or_default();
    if committed != built {
        let now = Path::new(env!("CARGO_TARGET_TMPDIR")).join(list);
        fs::write(&now, built).unwrap();
        let diff = Command::new("diff").arg("-uN").args([&path, &now]).output().unwrap();
        panic!("what was linked differs from tests/abi/{list}:\n{}", String::from_utf8_lossy(&diff.stdout));
    }
}

#[test]
fn the_guard_exports_what_the_list_says() {
    compare_with_list("libverbsguard.so.0.txt", &linked::describe(&built("libverbsguard.so.0").unwrap()).unwrap());
}

#[test]
fn the_stub_exports_what_the_list_says() {
    compare_with_list("libverbsguard.so.txt", &linked::describe(&built("libverbsguard.so").unwrap()).unwrap());
}

#[test]
fn every_interposed_function_stands_at_the_real_librarys_default_node() {
    let guard = linked::defined(&built("libverbsguard.so.0").unwrap()).unwrap();
    let interposed: Vec<_> = guard.iter().filter(|symbol| !symbol.ends_with("@@VERBSGUARD_0")).collect();
    assert!(interposed.len() >= 20, "too few: {interposed:?}");
    for version in VERSIONS {
        let lib = RdmaCore::find(*version).unwrap().lib();
        let real: BTreeSet<String> = ["libibverbs.so.1", "libmlx5.so.1"]
            .iter()
            .flat_map(|library| linked::defined(&lib.join(library)).unwrap())
            .collect();
        let names: BTreeSet<&str> =
            real.iter().filter_map(|symbol| symbol.split_once("@@")).map(|(name, _)| name).collect();
        for symbol in &interposed {
            let (name, _) = symbol.split_once("@@").expect("a default version");
            let known = *version == VERSIONS[0] || names.contains(name);
            assert!(!known || real.contains(*symbol), "{symbol} is not rdma-core {version}'s");
        }
    }
}

#[test]
fn what_is_exported_is_what_the_coverage_page_lists() {
    let guard = linked::defined(&built("libverbsguard.so.0").unwrap()).unwrap();
    let interposed: BTreeSet<_> = guard.into_iter().filter(|symbol| !symbol.ends_with("@@VERBSGUARD_0")).collect();
    let listed: BTreeSet<_> = coverage::all()
        .filter_map(|call| match call.at {
            coverage::At::Symbol(node) => Some(format!("{}@@{node}", call.name)),
            coverage::At::Pointer(..) => None,
        })
        .collect();
    assert_eq!(interposed, listed);
}

#[test]
fn every_function_in_the_source_is_exported_and_no_other() {
    let guard = linked::defined(&built("libverbsguard.so.0").unwrap()).unwrap();
    let exported: BTreeSet<String> =
        guard.iter().filter_map(|symbol| symbol.split_once('@')).map(|(name, _)| name.to_owned()).collect();
    let mut written = functions(&header::interposed().unwrap());
    written.extend(functions(&header::public().unwrap()));
    assert_eq!(exported, written);
}

/// The functions that a header made by cbindgen declares.
fn functions(header: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let (head, _) = line.split_once('(')?;
        let name = head.rsplit([' ', '*']).next()?;
        let ours = name.starts_with("ibv_") || name.starts_with("mlx5dv_") || name.starts_with('_');
        (ours || name.starts_with("verbsguard_")).then(|| name.to_owned())
    };
    header.lines().filter(|line| !line.starts_with([' ', '/', '#', 't'])).filter_map(name).collect()
}

#[test]
fn prototypes_agree_with_the_real_headers() {
    let interposed = header::interposed().unwrap();
    for version in VERSIONS {
        prototypes(*version, &interposed).unwrap_or_else(|error| panic!("rdma-core {version}: {error}"));
    }
}

#[test]
fn a_wrong_prototype_would_be_noticed() {
    let interposed = header::interposed().unwrap();
    let wrong = interposed.replace("uint32_t pd_handle", "uint64_t pd_handle");
    assert_ne!(interposed, wrong);
    assert!(prototypes(VERSIONS[0], &wrong).is_err());
    let unknown = format!("{interposed}\nint ibv_no_such_call(void);\n");
    assert!(prototypes(VERSIONS[0], &unknown).is_err());
}

fn prototypes(version: u32, interposed: &str) -> Outcome {
    // Older headers lack some functions; the newest must have all.
    let all = |name: String| format!("static void *const real_{name} __attribute__((unused)) = (void *){name};\n");
    let real =
        if version == VERSIONS[0] { functions(interposed).into_iter().map(all).collect() } else { String::new() };
    compile("prototypes.c", version, &[("interposed.h", interposed), ("real.h", &real)])
}

#[test]
fn mirrored_structs_agree_with_the_real_headers() {
    let mirrored = header::mirrored().unwrap();
    for version in VERSIONS {
        let compiled = compile("layout.c", *version, &[("mirrored.h", &mirrored)]);
        compiled.unwrap_or_else(|error| panic!("rdma-core {version}: {error}"));
    }
}

#[test]
fn a_wrong_layout_would_be_noticed() {
    let mirrored = header::mirrored().unwrap();
    let wrong = mirrored.replace("  int cmd_fd;\n  int async_fd;", "  int async_fd;\n  int cmd_fd;");
    assert_ne!(mirrored, wrong);
    assert!(compile("layout.c", VERSIONS[0], &[("mirrored.h", &wrong)]).is_err());
}

#[test]
fn every_mirrored_field_is_asserted() {
    let asserts = fs::read_to_string(project().join("tests-c/abi/layout.c")).unwrap();
    let mirrored = header::mirrored().unwrap();
    let mut of = "";
    for line in mirrored.lines() {
        if let Some(name) = line.strip_prefix("struct guard_") {
            of = name.trim_end_matches([' ', '{', ';']);
        } else if let Some(field) = line.strip_prefix("  ").and_then(|field| field.rsplit([' ', '*']).next()) {
            let field = field.trim_end_matches(';').split('[').next().unwrap_or_default();
            let filler = field.starts_with('_') || ["before_pd", "after_pd"].contains(&field);
            // Private to libmlx5: checked at run time.
            let private = of == "Mlx5dvDevxUmem" && field != "umem_id";
            let said =
                |line: &str| line.starts_with("SAME") && line.contains(&format!("({of}, ")) && line.contains(field);
            assert!(
                filler || private || asserts.lines().any(said),
                "tests-c/abi/layout.c does not assert {of}.{field}"
            );
        }
    }
}

/// Compiles a program of tests-c/abi with headers made for it.
fn compile(source: &str, version: u32, headers: &[(&str, &str)]) -> Outcome {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("abi-{number}"));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for (name, text) in headers {
        fs::write(folder.join(name), text).map_err(|error| error.to_string())?;
    }
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I"]).arg(&folder);
    cc.arg("-I").arg(RdmaCore::find(version)?.include()).arg(project().join("tests-c/abi").join(source));
    if version >= 63 {
        cc.arg("-DNEEDS_UMEM_EXPORT");
    }
    output_of(&mut cc).map(drop)
}

#[test]
fn the_committed_header_is_what_the_source_gives() {
    let committed = fs::read_to_string(project().join(header::PUBLIC)).unwrap();
    let made = header::public().unwrap();
    assert!(committed == made, "{} is out of date: type `make header`", header::PUBLIC);
}

#[test]
fn the_header_compiles_as_c_and_as_cpp() {
    let path = project().join(header::PUBLIC);
    for (compiler, language, standard) in [("cc", "c", "-std=c99"), ("c++", "c++", "-std=c++11")] {
        let mut command = Command::new(compiler);
        command
            .args(["-x", language, standard, "-pedantic", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"])
            .arg(&path);
        output_of(&mut command).unwrap();
    }
}
