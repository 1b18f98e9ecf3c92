//! `mha trace --interactive` from the outside: without a terminal, and in a real one through tmux.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

#[path = "common/run.rs"]
mod run;

const NEEDS_TMUX: &str = "install tmux: these tests look at a real terminal";

#[test]
fn without_a_terminal_it_says_what_to_use_instead() {
    let folder = Path::new(".");
    let piped = run::ended(&mut run::shell("\"$0\" trace --interactive < /dev/null | cat", folder));
    for text in ["standard input is not a terminal", "mha trace", "--explain"] {
        assert!(piped.err.contains(text), "{}", piped.err);
    }
    assert_eq!(piped.out, "");
    assert_eq!(run::run(folder, &["trace", "--interactive"]).status, Some(2));
}

#[test]
fn what_is_for_pages_does_not_go_with_it() {
    for flags in
        [vec!["--format", "json"], vec!["--output", "x"], vec!["--explain", "q[1,1]"], vec!["--summary"]]
    {
        let run = run::run(Path::new("."), &[&["trace", "--interactive"], flags.as_slice()].concat());
        assert_eq!(run.status, Some(2));
        assert!(run.err.contains("cannot be used with"), "{}", run.err);
    }
}

/// A terminal of its own, with a shell in it.
struct Tmux {
    socket: String,
    folder: tempfile::TempDir,
}

impl Tmux {
    fn open(name: &str, width: u16, height: u16) -> Self {
        let tmux = Self {
            socket: format!("mha-{name}-{}", std::process::id()),
            folder: tempfile::tempdir().unwrap(),
        };
        let (width, height) = (width.to_string(), height.to_string());
        let folder = tmux.folder.path().to_str().unwrap();
        tmux.tell(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &width,
            "-y",
            &height,
            "-c",
            folder,
            "env PS1='ready> ' sh -i",
        ]);
        tmux.wait_for("ready>");
        // What the shell's own line editor sets is out of the way while stty runs.
        tmux.line("stty -a > before; echo kept");
        tmux.wait_for("kept");
        tmux
    }

    fn tell(&self, arguments: &[&str]) -> Output {
        let output =
            Command::new("tmux").args(["-u", "-L", &self.socket]).args(arguments).output().expect(NEEDS_TMUX);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    fn keys(&self, keys: &[&str]) {
        self.tell(&[&["send-keys"], keys].concat());
    }

    fn line(&self, text: &str) {
        self.tell(&["send-keys", "-l", text]);
        self.keys(&["Enter"]);
    }

    fn screen(&self) -> String {
        String::from_utf8(self.tell(&["capture-pane", "-p"]).stdout).unwrap()
    }

    fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    fn wait(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if is_there(&screen) {
                return screen;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "no {what} on\n{screen}");
            sleep(Duration::from_millis(30));
        }
    }

    /// The shell waits for a line.
    fn prompt(&self) {
        self.wait("prompt", |screen| {
            screen.trim_end().lines().last().is_some_and(|line| line.trim() == "ready>")
        });
    }

    /// Starts the stepper as a job whose process id is in a file.
    fn step(&self, arguments: &str) {
        self.step_after("", arguments);
    }

    /// The same, after what `before` tells the job's shell.
    fn step_after(&self, before: &str, arguments: &str) {
        let mha = env!("CARGO_BIN_EXE_mha");
        self.line(&format!(
            "sh -c 'echo $$ > pid; {before}exec {mha} trace {arguments} --interactive'; echo status=$?"
        ));
        self.wait_for("? help");
    }

    /// The process id of the job.
    fn pid(&self) -> String {
        fs::read_to_string(self.folder.path().join("pid")).unwrap().trim().to_owned()
    }

    fn kill(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.pid()]).status().unwrap().success());
    }

    /// The shell's screen is back, with the cursor, and the line is set as it was.
    fn is_as_before(&self) {
        self.prompt();
        let after = self.folder.path().join("after");
        let _ = fs::remove_file(&after);
        self.line("stty -a > new; mv new after");
        self.wait("file from stty", |_| after.exists());
        let read = |name: &str| fs::read_to_string(self.folder.path().join(name)).unwrap();
        assert_eq!(read("before"), read("after"));
        let flags = self.tell(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
        assert_eq!(String::from_utf8(flags.stdout).unwrap().trim(), "0 1");
        let screen = self.screen();
        assert!(
            screen.contains("ready>") && screen.contains("kept") && !screen.contains("? help"),
            "{screen}"
        );
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.socket, "kill-server"]).output();
    }
}

#[test]
#[ignore = "needs tmux"]
fn keys_move_edit_and_quit_and_the_terminal_is_as_before() {
    let tmux = Tmux::open("keys", 80, 24);
    tmux.step("two-heads");
    tmux.wait_for("x[1,1] = 1");
    tmux.keys(&["1", "n", "n", "n"]);
    tmux.wait_for("head.1.scores[1,1] = 0.7071");
    tmux.keys(&["Down", "Down", "Right"]);
    tmux.wait_for("head.1.scores[3,2] = 0.7071");
    tmux.keys(&["Tab"]);
    tmux.wait_for("head.1.q[3,1] = 1");
    tmux.keys(&["BSpace", "?"]);
    tmux.wait_for("walk to the first number");
    tmux.keys(&["q"]);
    tmux.wait_for("head.1.scores[3,2] = 0.7071");
    // (2·2 + 0·0)/√2 = 2.8284
    tmux.keys(&[":", "x", "Enter", "e", "2", "Enter"]);
    tmux.wait_for("changed in 12 of 22 steps");
    tmux.keys(&["1", "n", "n", "n"]);
    tmux.wait_for("[*2.8284]");
    tmux.keys(&["q"]);
    tmux.wait_for("status=0");
    tmux.is_as_before();
}

#[test]
#[ignore = "needs tmux"]
fn another_size_is_drawn_at_once() {
    let tmux = Tmux::open("size", 120, 40);
    tmux.step("two-heads");
    tmux.wait("the list", |screen| screen.contains("  masked_scores") || screen.contains("head 2"));
    for (width, height) in [("40", "12"), ("200", "50"), ("80", "24")] {
        tmux.tell(&["resize-window", "-x", width, "-y", height]);
        let last = height.parse::<usize>().unwrap() - 1;
        tmux.wait("keys on the last line", |screen| {
            screen.lines().nth(last).is_some_and(|line| line.contains("? help"))
        });
        let screen = tmux.wait_for("x[1,1] = 1");
        assert_eq!(screen.contains("head 2"), width != "40", "{screen}");
    }
    tmux.keys(&["q"]);
    tmux.wait_for("status=0");
}

#[test]
#[ignore = "needs tmux"]
fn ctrl_c_leaves_the_terminal_as_it_was() {
    let tmux = Tmux::open("ctrl-c", 80, 24);
    tmux.step("masks");
    tmux.keys(&["n", "C-c"]);
    tmux.wait_for("status=0");
    tmux.is_as_before();
}

#[test]
#[ignore = "needs tmux"]
fn signals_leave_the_terminal_as_it_was() {
    // A shell says 128 and the signal's number of what a signal ended.
    for (signal, status) in [("-TERM", "status=143"), ("-HUP", "status=129"), ("-INT", "status=0")] {
        let tmux = Tmux::open(&format!("kill{signal}"), 80, 24);
        tmux.step("two-heads");
        tmux.kill(signal);
        tmux.wait_for(status);
        tmux.is_as_before();
    }
}

#[test]
#[ignore = "needs tmux"]
fn it_ends_with_its_terminal() {
    for (name, before) in [("heeded", ""), ("ignored", "trap \"\" HUP; ")] {
        let tmux = Tmux::open(&format!("gone-{name}"), 80, 24);
        tmux.step_after(before, "two-heads");
        let pid = tmux.pid();
        assert!(runs(&pid));
        tmux.tell(&["kill-server"]);
        let start = Instant::now();
        while runs(&pid) {
            if start.elapsed() > Duration::from_secs(3) {
                let _ = Command::new("kill").args(["-KILL", &pid]).status();
                panic!("SIGHUP {name}: still there without its terminal");
            }
            sleep(Duration::from_millis(30));
        }
    }
}

/// Whether a process runs: one that has ended may stay in the table as Z until its parent looks.
fn runs(pid: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().expect("install ps (procps)");
    let state = String::from_utf8(state.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

#[test]
#[ignore = "needs tmux"]
fn ctrl_z_gives_the_terminal_back_and_fg_returns() {
    let tmux = Tmux::open("ctrl-z", 80, 24);
    let mha = env!("CARGO_BIN_EXE_mha");
    tmux.line(&format!("{mha} trace --interactive"));
    tmux.wait_for("? help");
    tmux.keys(&["n", "C-z"]);
    tmux.wait("the shell", |screen| screen.contains("ready>") && !screen.contains("? help"));
    tmux.is_as_before();
    tmux.line("fg");
    tmux.wait_for("w_q[1,1] = 1");
    tmux.keys(&["n"]);
    tmux.wait_for("q[1,1] = 1");
    tmux.keys(&["q"]);
    tmux.wait("the shell", |screen| screen.contains("ready>") && !screen.contains("? help"));
    tmux.is_as_before();
}

#[test]
#[ignore = "needs tmux"]
fn a_panic_leaves_the_terminal_as_it_was_and_is_told_there() {
    let tmux = Tmux::open("panic", 80, 24);
    let test = std::env::current_exe().unwrap();
    tmux.line(&format!(
        "RUST_BACKTRACE=0 {} --ignored --exact --nocapture takes_the_terminal_and_panics",
        test.display()
    ));
    tmux.wait_for("a mistake of ours, made for a test");
    tmux.wait_for("1 passed");
    tmux.is_as_before();
}

/// Run inside tmux by the test above, which looks at the screen. Without a terminal there is none to take.
#[test]
#[ignore = "needs tmux"]
fn takes_the_terminal_and_panics() {
    if !std::io::stdout().is_terminal() {
        return;
    }
    let panic = std::panic::catch_unwind(|| {
        let _taken = mha::stepper::terminal::Taken::take().unwrap();
        panic!("a mistake of ours, made for a test");
    })
    .unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"a mistake of ours, made for a test"));
}
