//! Files that are no JSON, no config, no file, or far too much of one.

use std::fs;

use super::{CONFIG, LLAMA, limited, refused, text_refused};

#[test]
fn a_config_is_json() {
    let case = |promise: &str, text: &[u8], first: &str, place: &str| {
        text_refused(promise, text, first, &format!("{CONFIG}{place}"));
    };
    case("nothing", b"", "the file is empty", "");
    case("blanks", b"  \n", "this is not JSON", ":2:1");
    case("a word", b"llama", "this is not JSON", ":1:1");
    case("a part of a config", &LLAMA.as_bytes()[..60], "this is not JSON", ":3:33");
    case("two configs", format!("{LLAMA}{LLAMA}").as_bytes(), "this is not JSON", ":12:1");
    case("a comma too many", b"{\"model_type\": \"llama\",}", "this is not JSON", ":1:24");
    case("a remark", b"{\"model_type\": \"llama\" // 7B\n}", "this is not JSON", ":1:24");
    case("YAML", b"model_type: llama\n", "this is not JSON", ":1:1");
    case("a number that no computer has", b"{\"hidden_size\": 1e400}", "this is not JSON", ":1:21");
    case("a program", b"\x7fELF\x02\x01\x01\x00\xff\xfe", "this is not JSON", "");
    let utf_16: Vec<u8> = LLAMA.encode_utf16().flat_map(u16::to_le_bytes).collect();
    case("UTF-16", &[&[0xff, 0xfe], &utf_16[..]].concat(), "this is not JSON", "");
    case("an accent in Latin-1", b"{\"model_type\": \"ll\xe9ma\"}", "this is not JSON", "");
    case("100,000 lists", "[".repeat(100_000).as_bytes(), "this is not JSON", ":1:128");
    case("100,000 maps", "{\"a\":".repeat(100_000).as_bytes(), "this is not JSON", ":1:636");
    for top in ["[1, 2]", "42", "\"llama\"", "null", "true", "NaN"] {
        case(top, top.as_bytes(), "a config is a JSON object of keys and values", "");
    }
    case("a key twice", b"{\"hidden_size\": 64,\n \"hidden_size\": 128}", "hidden_size stands twice", ":2:2");
    case(
        "a key twice, the same",
        b"{\"text_config\": {\"a\": 1, \"a\": 1}}",
        "text_config.a stands twice",
        ":1:26",
    );
}

#[test]
fn a_config_is_a_few_kilobytes() {
    let much = |inside: &str| format!("{{\"model_type\": \"llama\", \"notes\": {inside}}}");
    text_refused(
        "20 MB of text",
        much(&format!("{:?}", "a".repeat(20_000_000))),
        "the file is 20 MiB large",
        CONFIG,
    );
    text_refused(
        "7 million ones",
        much(&format!("[{}1]", "1,".repeat(7_000_000))),
        "the file is 14 MiB large",
        CONFIG,
    );
}

/// A byte order mark, deep lists in keys that nobody reads, a hundred thousand numbers: not pretty, but no harm.
#[test]
fn what_does_no_harm_is_counted() {
    let extra = |inside: &str| LLAMA.replacen('{', &format!("{{\n  \"extra\": {inside},"), 1);
    for config in [
        format!("\u{feff}{LLAMA}"),
        extra(&format!("{}{}", "[".repeat(100), "]".repeat(100))),
        extra(&format!("[{}1]", "1,".repeat(100_000))),
    ] {
        let room = tempfile::tempdir().unwrap();
        fs::write(room.path().join(CONFIG), config).unwrap();
        let run = limited(room.path(), &[CONFIG]);
        assert_eq!((run.status, run.err.as_str()), (Some(0), ""));
    }
}

#[test]
fn a_path_leads_to_a_config() {
    let room = tempfile::tempdir().unwrap();
    fs::create_dir(room.path().join("empty")).unwrap();
    fs::create_dir_all(room.path().join("odd/config.json")).unwrap();
    fs::write(room.path().join(CONFIG), LLAMA).unwrap();
    let case =
        |path: &str, first: &str, place: &str| refused(path, &limited(room.path(), &[path]), first, place);
    case("empty", "the folder has neither a config.json nor weights", "empty");
    case("odd", "this is a directory", "odd/config.json");
    case("nosuch.json", "there is no such file", "nosuch.json");
    case("nosuch/config.json", "there is no such file", "nosuch/config.json");
    case("./\u{1b}[2J.json", "there is no such file", "./\\e[2J.json");
    case("nosuch", "no preset is called nosuch", "MODEL");
    case("", "no preset is called ", "MODEL");
}

#[cfg(unix)]
mod on_unix {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    use super::*;

    /// A pipe that nobody writes into, and a file that never ends.
    #[test]
    fn a_pipe_and_a_device_are_not_waited_for() {
        let room = tempfile::tempdir().unwrap();
        let made = Command::new("mkfifo").arg("pipe.json").current_dir(room.path()).status();
        assert!(made.unwrap().success());
        symlink("/dev/zero", room.path().join("endless.json")).unwrap();
        for path in ["pipe.json", "endless.json", "/dev/null"] {
            let first = "this is a pipe or a device, no regular file";
            refused(path, &limited(room.path(), &[path]), first, path);
        }
    }

    #[test]
    fn a_closed_file_and_a_circle_of_links_say_so() {
        let room = tempfile::tempdir().unwrap();
        let closed = room.path().join("closed.json");
        symlink("circle.json", room.path().join("circle.json")).unwrap();
        refused(
            "a circle",
            &limited(room.path(), &["circle.json"]),
            "the file cannot be read",
            "circle.json",
        );
        fs::write(&closed, LLAMA).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        if fs::read(&closed).is_ok() {
            return; // root may do anything
        }
        refused("closed", &limited(room.path(), &["closed.json"]), "the file cannot be read", "closed.json");
    }
}
