//! `--output` and its like, where something is in the way.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::run::{self, Run};
use super::{FULL, LESSON, contents, room};

/// Refused with status 2 and this line, the first but for notes.
#[track_caller]
fn refused(run: &Run, first: &str) {
    assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{}", run.err);
    let told = run.err.lines().find(|line| !line.starts_with("note: "));
    assert_eq!(told, Some(format!("error: {first}").as_str()), "{}", run.err);
}

#[test]
fn on_a_full_disk_a_new_page_is_not_begun_and_an_old_one_survives() {
    let room = room();
    fs::write(room.path().join("old.txt"), "an old page").unwrap();
    let before = contents(room.path());
    for args in [
        "trace lesson.yaml --output new.txt",
        "trace lesson.yaml --output old.txt --force",
        "trace lesson.yaml --format npz --output new.npz",
        "worksheet lesson.yaml --format html --output new.html",
        "lessons new new.yaml",
        "lessons render two-heads --output pages",
        "lessons render two-heads masks --format markdown --output new/pages",
        "lessons render two-heads --output .",
    ] {
        let run = run::ended(&mut run::shell(&format!("{FULL}; \"$0\" {args} < /dev/null"), room.path()));
        refused(&run, "the output file cannot be written");
        assert_eq!(contents(room.path()), before, "{args}: the folder has changed");
    }
}

#[test]
fn a_set_of_pages_appears_whole_or_not_at_all() {
    // The second page is too long for the disk; the first one, which is not, does not come alone.
    let room = room();
    let told =
        format!("{LESSON}course:\n{}", "  - say: \"A sentence of some length, and one more.\"\n".repeat(400));
    fs::write(room.path().join("long.yaml"), told).unwrap();
    let render = "\"$0\" lessons render lesson.yaml long.yaml --format markdown --output pages";
    let sizes = {
        let run = run::ended(&mut run::shell(render, room.path()));
        assert_eq!(run.status, Some(0), "{}", run.err);
        let pages = contents(&room.path().join("pages"));
        fs::remove_dir_all(room.path().join("pages")).unwrap();
        [pages["lesson.md"].len(), pages["long.md"].len()]
    };
    assert!(sizes[0] < 16 * 512 && sizes[1] > 16 * 1024, "{sizes:?}");
    let run = run::ended(&mut run::shell(&format!("ulimit -f 16; {render}"), room.path()));
    refused(&run, "the output file cannot be written");
    assert!(run.err.contains("pages/long.md"), "{}", run.err);
    assert!(!room.path().join("pages").exists());
}

#[test]
fn what_a_page_is_made_of_is_never_replaced_by_the_page() {
    let room = room();
    let here = room.path();
    let with_file = LESSON.replace("w_q: identity", "w_q: {file: w.csv}");
    fs::write(here.join("with_file.yaml"), with_file).unwrap();
    fs::write(here.join("w.csv"), "1,0,0,0\n0,1,0,0\n0,0,1,0\n0,0,0,1\n").unwrap();
    fs::write(here.join("q.csv"), "1,0,2,1\n0,1,1,0\n1,1,0,2\n").unwrap();
    fs::write(here.join("texts.txt"), "abcabc\nqwertqwert\n").unwrap();
    symlink("lesson.yaml", here.join("link.yaml")).unwrap();
    let model = here.join("model");
    fs::create_dir(&model).unwrap();
    for entry in fs::read_dir(reference("models/bert-tiny")).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), model.join(entry.file_name())).unwrap();
    }
    let weights = contents(&model);
    let before = contents(here);
    let absolute = here.join("lesson.yaml").display().to_string();
    for (args, output) in [
        ("trace lesson.yaml", "lesson.yaml"),
        ("trace lesson.yaml", "./lesson.yaml"),
        ("trace lesson.yaml", "model/../lesson.yaml"),
        ("trace lesson.yaml --format json", absolute.as_str()),
        ("trace lesson.yaml", "link.yaml"),
        ("trace link.yaml", "lesson.yaml"),
        ("trace with_file.yaml", "w.csv"),
        ("compare lesson.yaml", "lesson.yaml"),
        ("check lesson.yaml q.csv --format json", "q.csv"),
        ("check lesson.yaml q.csv --format json", "lesson.yaml"),
        ("worksheet lesson.yaml", "lesson.yaml"),
        ("lessons show lesson.yaml", "lesson.yaml"),
        ("lessons validate lesson.yaml", "lesson.yaml"),
        ("heads --model induction --texts texts.txt", "texts.txt"),
        ("params model --format json", "model/config.json"),
        ("trace --model model --text cat", "model/model.safetensors"),
    ] {
        let args: Vec<&str> = args.split(' ').chain(["--output", output]).collect();
        refused(&run::run(here, &args), "the output file exists");
        let forced = run::run(here, &[args.as_slice(), &["--force"]].concat());
        refused(&forced, "--output names a file that was read for this page");
        assert_eq!(contents(here), before, "{args:?}");
        assert_eq!(contents(&model), weights, "{args:?}");
    }
    // Under its other name, a file with two names stays: a page takes the place of a name.
    fs::hard_link(here.join("lesson.yaml"), here.join("other.yaml")).unwrap();
    let run = run::run(here, &["trace", "lesson.yaml", "--output", "other.yaml", "--force"]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    assert_eq!(fs::read_to_string(here.join("lesson.yaml")).unwrap(), LESSON);
    // And what was not read is replaced when that is asked for.
    let run = run::run(here, &["trace", "two-heads", "--output", "lesson.yaml", "--force"]);
    assert_eq!(run.status, Some(0), "{}", run.err);
}

/// A folder beside the tests.
fn reference(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference").join(name)
}

#[test]
fn a_link_is_followed_and_one_that_leads_nowhere_is_left_alone() {
    let room = room();
    let here = room.path();
    fs::create_dir(here.join("far")).unwrap();
    fs::write(here.join("far/page.txt"), "an old page").unwrap();
    symlink("far/page.txt", here.join("link")).unwrap();
    symlink("far/not/mounted.txt", here.join("nowhere")).unwrap();
    symlink("round", here.join("round")).unwrap();
    for link in ["nowhere", "round"] {
        for force in [&[][..], &["--force"]] {
            let run = run::run(here, &[&["trace", "--output", link], force].concat());
            refused(&run, "--output names a link that leads nowhere");
            assert!(fs::symlink_metadata(here.join(link)).unwrap().is_symlink());
        }
    }
    let run = run::run(here, &["trace", "--output", "link", "--force"]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    assert!(fs::symlink_metadata(here.join("link")).unwrap().is_symlink());
    assert!(fs::read_to_string(here.join("far/page.txt")).unwrap().contains("head.2.weights"));
    assert_eq!(contents(&here.join("far")).len(), 1);
}

#[test]
fn where_nothing_may_be_written_what_is_there_stays() {
    let room = room();
    let closed = room.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("old.txt"), "an old page").unwrap();
    fs::write(closed.join("one-distribution.html"), "an old page").unwrap();
    let before = contents(&closed);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(room.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for (args, first) in [
        ("trace --output closed/new.txt", "the output file cannot be written"),
        ("trace --output closed/old.txt --force", "the output file cannot be written"),
        ("lessons render one-distribution --output closed --force", "the output file cannot be written"),
        ("lessons render one-distribution --output closed/pages", "the folder cannot be made"),
    ] {
        let run = as_nobody(args, room.path());
        refused(&run, first);
        assert!(run.err.contains("why: its permissions do not allow it"), "{}", run.err);
        assert_eq!(contents(&closed), before, "{args}");
    }
}

/// Runs `mha` as somebody whom permissions bind, also where the tests are run by root.
pub(super) fn as_nobody(args: &str, folder: &Path) -> Run {
    let script = format!(
        "if [ \"$(id -u)\" = 0 ]; then exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$0\" {args}; \
         else exec \"$0\" {args}; fi"
    );
    run::ended(&mut run::shell(&script, folder))
}

#[test]
fn of_several_who_write_to_one_name_at_once_one_succeeds_and_none_spoils_it() {
    let room = room();
    let page = run::run(room.path(), &["trace", "lesson.yaml"]).out;
    // Each writes its status behind its own name.
    let at_once = |force: &str| {
        let script = format!(
            "for i in 1 2 3 4 5 6; do (\"$0\" trace lesson.yaml --output page.txt {force} 2> err$i; echo $? > rc$i) & \
             done; wait; cat rc*; rm rc* err*"
        );
        let run = run::ended(&mut run::shell(&script, room.path()));
        let mut statuses: Vec<String> = run.out.lines().map(str::to_owned).collect();
        statuses.sort();
        statuses.concat()
    };
    assert_eq!(at_once(""), "022222");
    assert_eq!(fs::read_to_string(room.path().join("page.txt")).unwrap(), page);
    assert_eq!(at_once("--force"), "000000");
    assert_eq!(fs::read_to_string(room.path().join("page.txt")).unwrap(), page);
    assert_eq!(contents(room.path()).len(), 2, "only the lesson and the page");
}
