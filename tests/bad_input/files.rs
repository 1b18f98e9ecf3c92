//! Where files lie, what kind they are, and who may read and write them.

use std::fs;

use super::{LESSON, lesson_refused, listing, refused, room, run};

fn lesson(w_q: &str) -> String {
    format!(
        "attention: {{}}\ninputs: {{x: [[1, 2], [3, 4]]}}\n\
         projections: {{w_q: {w_q}, w_k: identity, w_v: identity, w_o: identity}}\n"
    )
}

#[test]
fn a_lesson_reads_files_of_its_own_folder_only() {
    let room = room();
    let home = room.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(room.path().join("outside.csv"), "1,2\n3,4\n").unwrap();
    let absolute = room.path().join("outside.csv").display().to_string();
    let mut named = vec!["../outside.csv", absolute.as_str()];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../outside.csv", home.join("link.csv")).unwrap();
        named.push("link.csv");
    }
    for file in named {
        fs::write(home.join(LESSON), lesson(&format!("{{file: {file}}}"))).unwrap();
        lesson_refused(
            file,
            &home,
            &format!("projections.w_q.file names {file}, which lies outside the lesson's folder"),
            "lesson.yaml:3:21 (projections.w_q.file)",
        );
        let allowed = run::run(&home, &["trace", LESSON, "--allow-outside"]);
        assert_eq!((allowed.status, allowed.err.as_str()), (Some(0), ""), "{file}");
    }
}

#[test]
fn a_named_file_is_there_and_is_a_file() {
    let room = room();
    fs::create_dir(room.path().join("folder.npy")).unwrap();
    for (file, first) in [
        ("nosuch.npy", "which cannot be opened"),
        ("folder.npy", "which is not a file"),
        (".", "which is not a file"),
        ("folder.npy/w.npy", "which cannot be opened"),
    ] {
        fs::write(room.path().join(LESSON), lesson(&format!("{{file: {file}}}"))).unwrap();
        lesson_refused(
            file,
            room.path(),
            &format!("projections.w_q.file names {file}, {first}"),
            "lesson.yaml:3:21 (projections.w_q.file)",
        );
    }
}

#[test]
fn a_byte_order_mark_and_a_pipe_from_the_shell_are_welcome() {
    let room = room();
    let titled = format!("title: the same lesson\n{}", lesson("identity"));
    fs::write(room.path().join(LESSON), format!("\u{feff}{titled}")).unwrap();
    let run = run::run(room.path(), &["trace", LESSON]);
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""));
    let piped = run::ended(run::mha(room.path()).args(["trace", "-"]).write_stdin(titled));
    assert_eq!((piped.status, &piped.out), (Some(0), &run.out));
}

/// A byte order mark and the bytes of UTF-16, the low one first.
fn utf16(text: &str) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn texts_and_numbers_as_windows_writes_them_are_read_or_their_encoding_is_named() {
    let room = room();
    let write = |name: &str, text: &[u8]| fs::write(room.path().join(name), text).unwrap();
    let heads = |texts| run::run(room.path(), &["heads", "--model", "induction", "--texts", texts]);
    write("unix.txt", b"abcabc\nqwertqwert\n");
    write("windows.txt", "\u{feff}abcabc\r\nqwertqwert\r\n".as_bytes());
    let (unix, windows) = (heads("unix.txt"), heads("windows.txt"));
    assert_eq!((windows.status, windows.out), (Some(0), unix.out));
    write("utf16.txt", &utf16("abcabc\n"));
    write("q.csv", &utf16("1,0\n0,1\n"));
    write("answers.yaml", &utf16("q: [[1, 0]]\n"));
    write(LESSON, &utf16(&lesson("identity")));
    for (promise, run, first) in [
        ("texts", heads("utf16.txt"), "the texts cannot be read"),
        ("csv", run::run(room.path(), &["check", "two-heads", "q.csv"]), "byte 1 is not text (UTF-8)"),
        (
            "yaml",
            run::run(room.path(), &["check", "two-heads", "answers.yaml"]),
            "byte 1 is not text (UTF-8)",
        ),
        ("lesson", run::run(room.path(), &["trace", LESSON]), "lesson.yaml is not a text in UTF-8"),
    ] {
        refused(promise, &run, first, None);
        let why =
            "  why: it seems to be UTF-16, which > in Windows PowerShell writes\n  try: save it as UTF-8";
        assert!(run.err.contains(why), "{promise}: {}", run.err);
    }
}

#[test]
fn nothing_is_replaced_unless_asked_for() {
    let room = room();
    fs::create_dir(room.path().join("folder")).unwrap();
    fs::write(room.path().join("mine.txt"), "mine").unwrap();
    let before = listing(room.path());
    let long = "x".repeat(300); // refused only when the page, already written beside its place, is moved there
    for (promise, file, first, place) in [
        ("a file that exists", "mine.txt", "the output file exists", "mine.txt"),
        ("a folder", "folder", "--output names a folder", "folder"),
        ("a folder that is not there", "nosuch/", "--output names a folder", "nosuch/"),
        ("a file in no folder", "nosuch/page.txt", "the output file cannot be written", "nosuch/page.txt"),
        ("a file in a file", "mine.txt/page.txt", "the output file cannot be written", "mine.txt/page.txt"),
        ("a name too long", &long, "the output file cannot be written", &long),
    ] {
        for verb in [
            &["trace"][..],
            &["compare"],
            &["params"],
            &["lessons", "show", "masks"],
            &["lessons", "validate", "two-heads"],
        ] {
            let args = [verb, &["--output", file]].concat();
            refused(promise, &run::run(room.path(), &args), first, Some(place));
            assert_eq!(listing(room.path()), before, "{promise}: something was written");
        }
    }
    assert_eq!(fs::read_to_string(room.path().join("mine.txt")).unwrap(), "mine");
    let forced = run::run(room.path(), &["trace", "--output", "mine.txt", "--force"]);
    assert_eq!((forced.status, forced.out.as_str(), forced.err.as_str()), (Some(0), "", ""));
    assert!(fs::read_to_string(room.path().join("mine.txt")).unwrap().contains("head.2.weights"));
    assert_eq!(listing(room.path()), before, "something was left behind");
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    fn pipe(path: &std::path::Path) {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    /// Opening it would wait for a writer who never comes.
    #[test]
    fn a_pipe_that_nobody_writes_to_is_not_waited_for() {
        let room = room();
        pipe(&room.path().join(LESSON));
        lesson_refused("a lesson", room.path(), "lesson.yaml is a pipe or a device, not a file", LESSON);
        fs::remove_file(room.path().join(LESSON)).unwrap();
        pipe(&room.path().join("w.npy"));
        fs::write(room.path().join(LESSON), lesson("{file: w.npy}")).unwrap();
        lesson_refused(
            "an array",
            room.path(),
            "projections.w_q.file names w.npy, which is not a file",
            "lesson.yaml:3:21 (projections.w_q.file)",
        );
        pipe(&room.path().join("texts"));
        let run = run::run(room.path(), &["heads", "--model", "induction", "--texts", "texts"]);
        refused("texts", &run, "the texts cannot be read", Some("texts"));
    }

    /// A page is moved to its place, and would take the device's.
    #[test]
    fn a_pipe_or_a_device_is_never_replaced() {
        let room = room();
        pipe(&room.path().join("pipe"));
        let before = listing(room.path());
        for args in [&["trace", "--output", "pipe"][..], &["trace", "--output", "pipe", "--force"]] {
            refused(
                "a pipe",
                &run::run(room.path(), args),
                "--output names a pipe or a device",
                Some("pipe"),
            );
            assert_eq!(listing(room.path()), before);
        }
    }

    #[test]
    fn a_folder_or_file_without_permission_says_so() {
        let room = room();
        let closed = room.path().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::write(room.path().join(LESSON), lesson("identity")).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
        fs::set_permissions(room.path().join(LESSON), fs::Permissions::from_mode(0o000)).unwrap();
        if fs::write(closed.join("probe"), "").is_ok() {
            return; // root may do anything
        }
        let run = run::run(room.path(), &["trace", "--output", "closed/page.txt"]);
        refused("a folder", &run, "the output file cannot be written", Some("closed/page.txt"));
        lesson_refused("a lesson", room.path(), "lesson.yaml cannot be opened", LESSON);
    }

    #[test]
    fn a_page_is_as_open_as_other_files_of_its_owner() {
        let room = room();
        let mut shell = run::shell("umask 027 && exec \"$0\" trace --output page.txt", room.path());
        assert_eq!(run::ended(&mut shell).status, Some(0));
        let mode = fs::metadata(room.path().join("page.txt")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }
}
