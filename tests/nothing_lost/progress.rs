//! The file of progress, by real processes and in bad hands.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::thread;

use mha::course::progress::{Done, OfLesson, Progress, Store};
use rexpect::session::{Options, spawn_with_options};

use super::outputs::as_nobody;
use super::run;
use super::{FULL, LESSON, contents, room};

/// A lesson with four questions, each of which is answered by 1.
fn questions() -> String {
    let ask = |number| format!("  - {{ask: \"What is x[1,1]?\", cell: \"x[1,1]\", id: q{number}}}\n");
    format!("{LESSON}course:\n{}", (1..=4).map(ask).collect::<String>())
}

#[test]
fn eight_who_learn_at_once_lose_no_answer_of_each_other() {
    let room = room();
    for learner in 1..=8 {
        fs::write(room.path().join(format!("{learner}.yaml")), questions()).unwrap();
    }
    thread::scope(|scope| {
        for learner in 1..=8 {
            let room = room.path();
            scope.spawn(move || {
                let mut command = Command::new(env!("CARGO_BIN_EXE_mha"));
                command.args(["learn", &format!("{learner}.yaml")]).current_dir(room);
                command.env("MHA_DATA_DIR", room.join("data")).env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
                let options = Options::new().timeout_ms(Some(40_000));
                let mut session = spawn_with_options(command, options).unwrap();
                for _ in 1..=4 {
                    session.exp_string("> ").unwrap_or_else(|error| panic!("learner {learner}: {error}"));
                    session.send_line("1").unwrap();
                }
                session.exp_eof().unwrap_or_else(|error| panic!("learner {learner}: {error}"));
            });
        }
    });
    let (progress, said) = Store::in_folder(&room.path().join("data")).read();
    assert_eq!(said, None);
    let kept: Vec<usize> = progress.lessons.values().map(|of| of.done.len()).collect();
    assert_eq!(kept, [4; 8]);
    let left: Vec<String> = contents(&room.path().join("data")).into_keys().collect();
    assert_eq!(left, ["progress.json", "progress.lock"]);
}

#[test]
fn a_page_does_not_take_the_place_of_progress() {
    let room = room();
    let data = room.path().join("data");
    fs::create_dir(&data).unwrap();
    Store::in_folder(&data).change(|progress| *progress = some()).unwrap();
    let before = contents(&data);
    for verb in [&["learn"][..], &["learn", "two-heads", "--plain"]] {
        let output = ["--output", "data/progress.json", "--force"];
        let run = run::ended(run::mha(room.path()).env("MHA_DATA_DIR", &data).args(verb).args(output));
        assert_eq!(run.status, Some(2), "{}", run.out);
        assert!(run.err.contains("names a file that was read for this page"), "{}", run.err);
    }
    assert_eq!(contents(&data), before);
}

/// Somebody who has done a little.
fn some() -> Progress {
    let done = Done::today("2026-11-30".parse().unwrap(), 1, 0, false, None);
    let of = OfLesson { left_at: 1, done: [("scale-1".to_owned(), done)].into() };
    Progress { lessons: [("two-heads".to_owned(), of)].into() }
}

/// A file of progress in a folder, as `mha` writes it.
fn kept_in(folder: &Path) -> Vec<u8> {
    Store::in_folder(folder).change(|progress| *progress = some()).unwrap();
    fs::read(folder.join("progress.json")).unwrap()
}

#[test]
fn a_file_cut_short_anywhere_is_kept_aside_and_a_new_one_is_begun() {
    let whole = kept_in(room().path());
    // All but the line break at the end is needed.
    for length in 0..whole.len() - 1 {
        let room = tempfile::tempdir().unwrap();
        fs::write(room.path().join("progress.json"), &whole[..length]).unwrap();
        let (progress, said) = Store::in_folder(room.path()).read();
        assert_eq!(progress, Progress::default(), "{length} bytes");
        assert!(said.unwrap().contains("was set aside as"), "{length} bytes");
        let left = contents(room.path());
        assert_eq!(left["progress.json.damaged"], whole[..length], "{length} bytes");
        assert!(!left.contains_key("progress.json"), "{length} bytes");
    }
    // Who answers a question without having looked before finds the same.
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("progress.json"), &whole[..9]).unwrap();
    let after = Store::in_folder(room.path()).change(|progress| *progress = some()).unwrap();
    assert_eq!(after, some());
    assert_eq!(contents(room.path())["progress.json"], whole);
    assert_eq!(contents(room.path())["progress.json.damaged"], whole[..9]);
}

#[test]
fn what_cannot_be_read_is_not_written_over() {
    let room = room();
    let whole = kept_in(room.path());
    let file = room.path().join("progress.json");
    // It is somebody else's, in a folder that anybody may write to.
    fs::set_permissions(room.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(room.path().join("progress.lock"), fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    let run = as_nobody("learn --forget", &room_as_data(room.path()));
    assert_eq!(run.status, Some(2), "{}", run.err);
    assert!(run.err.contains("error: progress cannot be kept in"), "{}", run.err);
    assert!(run.err.contains("why: its permissions do not allow it"), "{}", run.err);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(fs::read(&file).unwrap(), whole);
}

/// The tests run `mha` with its data in the folder `progress`: a link to the folder itself.
fn room_as_data(room: &Path) -> std::path::PathBuf {
    symlink(".", room.join("progress")).unwrap();
    room.to_owned()
}

#[test]
fn on_a_full_disk_what_was_learnt_before_stays() {
    let room = room();
    // Longer than the disk has room for: 1,024 bytes at most.
    let store = Store::in_folder(room.path());
    let many = |progress: &mut Progress| {
        for number in 0..40 {
            progress.lessons.insert(format!("lesson-{number}"), some().lessons["two-heads"].clone());
        }
    };
    store.change(many).unwrap();
    let before = contents(room.path());
    let script = format!("{FULL}; trap '' XFSZ; \"$0\" learn --forget lesson-1");
    let run = run::ended(&mut run::shell(&script, &room_as_data(room.path())));
    assert_eq!(run.status, Some(2), "{}", run.err);
    assert!(run.err.contains("error: progress cannot be kept in"), "{}", run.err);
    fs::remove_file(room.path().join("progress")).unwrap();
    assert_eq!(contents(room.path()), before);
}

#[test]
fn kept_elsewhere_behind_a_link_it_stays_there() {
    let room = room();
    let (home, cloud) = (room.path().join("home"), room.path().join("cloud"));
    fs::create_dir_all(&home).unwrap();
    kept_in(&cloud);
    symlink("../cloud/progress.json", home.join("progress.json")).unwrap();
    let store = Store::in_folder(&home);
    assert_eq!(store.read(), (some(), None));
    store.change(|progress| progress.lessons.clear()).unwrap();
    assert!(fs::symlink_metadata(home.join("progress.json")).unwrap().is_symlink());
    assert_eq!(Store::in_folder(&cloud).read(), (Progress::default(), None));
}

#[test]
fn where_a_folder_stands_in_its_place_it_stays_and_learning_goes_on() {
    let room = room();
    fs::create_dir(room.path().join("progress.json")).unwrap();
    fs::write(room.path().join("progress.json/mine"), "mine").unwrap();
    let room = room_as_data(room.path());
    let listed = run::run(&room, &["learn"]);
    assert_eq!(listed.status, Some(0), "{}", listed.err);
    assert!(listed.err.contains("cannot be read"), "{}", listed.err);
    assert_eq!(run::run(&room, &["learn", "--forget"]).status, Some(2));
    assert_eq!(fs::read_to_string(room.join("progress.json/mine")).unwrap(), "mine");
}

/// Nothing is strewn into the folder that somebody happens to be in.
#[test]
fn without_a_home_and_with_a_relative_one_nothing_is_written_here() {
    let room = room();
    let before = contents(room.path());
    for set in ["-u HOME", "HOME=", "XDG_DATA_HOME=here", "-u HOME XDG_DATA_HOME=./here"] {
        let script = format!("env -u MHA_DATA_DIR {set} \"$0\" learn");
        let run = run::ended(&mut run::shell(&script, room.path()));
        assert_eq!(run.status, Some(0), "{set}: {}", run.err);
        assert_eq!(contents(room.path()), before, "{set}");
    }
}
