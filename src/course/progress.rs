//! What a person has done so far: one small file in the platform's data folder.
//!
//! ```json
//! {"mha": 1, "lessons": {"two-heads": {"left_at": 3, "done": {"scale-1": {"day": "2026-11-30", "tries": 2, "hints": 1,
//!  "revealed": false, "box": 0, "due": "2026-12-01"}}}}}
//! ```
//!
//! Days are those of the calendar where the person is. What was missed comes back on the next day; what is then right
//! comes back after 2, 4, 8 … days (Leitner's boxes). Every change is made to what stands in the file at that moment, under a
//! lock: two dialogues at once do not lose each other's answers.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::arrays;
use crate::limits::PROGRESS_BYTES;
use crate::words::t;
use etcetera::AppStrategy;
use jiff::civil::Date;
use jiff::{ToSpan, ZonedDateTime};
use serde_json::{Map, Value, json};

use crate::fault::{Fault, reason, visible};

/// The environment variable that names another folder.
pub const FOLDER: &str = "MHA_DATA_DIR";
/// The file's name in its folder.
const FILE: &str = "progress.json";
/// Beside it: whoever holds it is writing.
const LOCK: &str = "progress.lock";
/// The version that this program writes and reads.
const VERSION: u64 = 1;
/// The last box: what is in it comes back after 2⁸ days.
const LAST_BOX: u8 = 8;

/// What a person has done so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progress {
    /// By the lesson: its name, or the path of its file.
    pub lessons: BTreeMap<String, OfLesson>,
}

/// What was done of one lesson.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OfLesson {
    /// The part (from 0) where the lesson goes on.
    pub left_at: usize,
    /// Questions and tasks that are done, by their ids.
    pub done: BTreeMap<String, Done>,
}

/// How a question or a task was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// When it was last done.
    pub day: Date,
    /// How many answers were given, the right one included.
    pub tries: u32,
    /// How many hints were asked for.
    pub hints: u32,
    /// Whether the answer was shown.
    pub revealed: bool,
    /// Leitner's box: 0 comes back on the next day, each further one after twice the days.
    pub shelf: u8,
    /// When it is to be asked again.
    pub due: Date,
}

impl Done {
    /// What was done today; `before` is how it was done the last time, where it was.
    pub fn today(today: Date, tries: u32, hints: u32, revealed: bool, before: Option<&Self>) -> Self {
        let is_known = tries == 1 && hints == 0 && !revealed;
        let shelf = match before {
            _ if !is_known => 0,
            None => 1,
            Some(before) => before.shelf.saturating_add(1).min(LAST_BOX),
        };
        let days = 1i64 << shelf;
        // A calendar that ends in the year 9999 has no day after that.
        let due = today.checked_add(days.days()).unwrap_or(Date::MAX);
        Self { day: today, tries, hints, revealed, shelf, due }
    }

    /// Whether it is to be asked again on that day.
    pub fn is_due(&self, today: Date) -> bool {
        self.due <= today
    }
}

/// Today, where the person is.
pub fn today() -> Date {
    ZonedDateTime::now().date()
}

/// The file that progress is kept in.
#[derive(Debug, Clone)]
pub struct Store {
    folder: Option<PathBuf>,
}

impl Store {
    /// The one of this person: in `MHA_DATA_DIR`, or where the platform keeps a program's data.
    pub fn of_this_person() -> Self {
        let named = std::env::var_os(FOLDER).filter(|name| !name.is_empty()).map(PathBuf::from);
        let usual = || {
            let name = etcetera::AppStrategyArgs {
                top_level_domain: String::new(),
                author: String::new(),
                app_name: "mha".to_owned(),
            };
            etcetera::app_strategy::choose_native_strategy(name).ok().map(|folders| folders.data_dir())
        };
        Self { folder: named.or_else(usual) }
    }

    /// The one in a folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()) }
    }

    /// Where the file is; `None` on a machine where nobody has a home.
    pub fn file(&self) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(FILE))
    }

    /// What is in the file, with what has to be said about it: nothing, that it was set aside, or that it is not used.
    pub fn read(&self) -> (Progress, Option<String>) {
        let Some(file) = self.file() else { return (Progress::default(), None) };
        let read = match read(&file) {
            Err(Trouble::Not(_)) => {
                // Another dialogue may have set it aside just now, and begun a new one, which is to stay.
                let _held = self.lock();
                read_or_set_aside(&file)
            }
            other => other,
        };
        match read {
            Ok(progress) => (progress, None),
            Err(trouble) => (Progress::default(), trouble.told(&file)),
        }
    }

    /// Changes what is in the file, and gives it back as it then is; nothing that another dialogue has written is lost.
    ///
    /// # Errors
    /// It cannot be written: the folder is not there and cannot be made, or is read-only. What stands there cannot be
    /// read, or is none of ours and cannot be set aside: it stays as it is.
    pub fn change(&self, change: impl FnOnce(&mut Progress)) -> Result<Progress, Fault> {
        let Some(folder) = &self.folder else {
            let why = t!("this machine has no folder for a person's data");
            return Err(Fault::new(t!("progress cannot be kept"), why, remedy()));
        };
        let file = folder.join(FILE);
        let write = || -> io::Result<Progress> {
            let _held = self.lock()?;
            let mut progress = match read_or_set_aside(&file) {
                Ok(progress) => progress,
                Err(Trouble::None | Trouble::SetAside(..)) => Progress::default(),
                Err(Trouble::Unreadable(error)) => return Err(error),
                Err(Trouble::Not(why) | Trouble::Stays(why)) => return Err(io::Error::other(why)),
            };
            change(&mut progress);
            let place = place(&file)?;
            let mut beside = tempfile::NamedTempFile::new_in(place.parent().unwrap_or(folder))?;
            beside.write_all(written(&progress).as_bytes())?;
            beside.as_file().sync_data()?;
            // Unlike `persist`, it is a match for Windows, where somebody may be reading just now.
            fs::rename(beside.into_temp_path(), &place)?;
            Ok(progress)
        };
        write().map_err(|error| {
            let what = t!("progress cannot be kept in %{file}", file = file.display());
            Fault::new(what, reason(&error), remedy())
        })
    }

    /// Waits until nobody else writes; nobody does as long as what is given back is there.
    fn lock(&self) -> io::Result<Option<File>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        fs::create_dir_all(folder)?;
        not_a_pipe(&folder.join(LOCK))?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(LOCK))?;
        // Another dialogue holds it for a moment only; where a disk knows no locks, going on is better than stopping.
        let _ = lock.lock();
        Ok(Some(lock))
    }
}

/// Where the file is written: where a person keeps it elsewhere, behind a link, it stays there.
///
/// # Errors
/// The link leads nowhere (a disk that is not there just now), or the file is not to be written to: a new file in its place
/// would go against what the person has said.
fn place(file: &Path) -> io::Result<PathBuf> {
    let is_link = fs::symlink_metadata(file).is_ok_and(|found| found.is_symlink());
    match fs::metadata(file) {
        Ok(found) if found.permissions().readonly() => Err(io::ErrorKind::PermissionDenied.into()),
        Ok(_) => fs::canonicalize(file),
        Err(_) if is_link => Err(io::Error::other(t!("it is a link that leads nowhere"))),
        Err(_) => Ok(file.to_owned()),
    }
}

fn remedy() -> String {
    t!("set MHA_DATA_DIR to a folder of yours")
}

/// Why a file gives no progress.
enum Trouble {
    /// There is none yet.
    None,
    /// It is there, and cannot be read.
    Unreadable(io::Error),
    /// It is not what this program has written, and why.
    Not(String),
    /// The same, and it now stands elsewhere.
    SetAside(PathBuf, String),
    /// It is not for this program to use or to move, and why.
    Stays(String),
}

impl Trouble {
    /// What a person is told of it.
    fn told(&self, file: &Path) -> Option<String> {
        let shown = |path: &Path| visible(&path.display().to_string());
        match self {
            Self::None => None,
            Self::Unreadable(error) => Some(t!(
                "The file of progress %{file} cannot be read (%{why}): this goes on without it.",
                file = shown(file),
                why = reason(error)
            )),
            Self::SetAside(aside, why) => Some(t!(
                "The file of progress was set aside as %{file}: %{why}. A new one is begun.",
                file = shown(aside),
                why = visible(why)
            )),
            Self::Not(why) | Self::Stays(why) => Some(t!(
                "The file of progress %{file} is not used: %{why}.",
                file = shown(file),
                why = visible(why)
            )),
        }
    }
}

/// Refuses what would be waited for without end: a pipe that nobody writes to, a device. What is not there is no trouble.
fn not_a_pipe(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            Err(io::Error::other(t!("it is a pipe or a device, not a file")))
        }
        _ => Ok(()),
    }
}

fn read(file: &Path) -> Result<Progress, Trouble> {
    not_a_pipe(file).map_err(Trouble::Unreadable)?;
    let text = match File::open(file) {
        Ok(opened) => {
            // A page does not take its place.
            arrays::reads(file);
            let mut bytes = Vec::new();
            opened.take(PROGRESS_BYTES + 1).read_to_end(&mut bytes).map_err(Trouble::Unreadable)?;
            if bytes.len() as u64 > PROGRESS_BYTES {
                return Err(Trouble::Not(t!("it is too long")));
            }
            bytes
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Trouble::None),
        Err(error) => return Err(Trouble::Unreadable(error)),
    };
    let value: Value = serde_json::from_slice(&text)
        .map_err(|error| Trouble::Not(t!("it is damaged: %{why}", why = error)))?;
    match value["mha"].as_u64() {
        Some(VERSION) => {}
        Some(newer) if newer > VERSION => {
            return Err(Trouble::Stays(t!("a newer mha has written it")));
        }
        _ => return Err(Trouble::Not(t!("it names no version"))),
    }
    from_json(&value).ok_or_else(|| Trouble::Not(t!("it holds something else than progress")))
}

/// What is in the file; one that this program has not written is moved out of the way. Called under the lock.
fn read_or_set_aside(file: &Path) -> Result<Progress, Trouble> {
    read(file).map_err(|trouble| match trouble {
        Trouble::Not(why) => match set_aside(file) {
            Ok(aside) => Trouble::SetAside(aside, why),
            Err(_) => Trouble::Stays(why),
        },
        other => other,
    })
}

/// Moves a file out of the way, keeping it and all that were moved there before.
fn set_aside(file: &Path) -> io::Result<PathBuf> {
    let named = |number: usize| match number {
        1 => file.with_extension("json.damaged"),
        more => file.with_extension(format!("json.damaged-{more}")),
    };
    let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
    let free = (1..10_000).map(named).find(is_free).ok_or(io::ErrorKind::AlreadyExists)?;
    fs::rename(file, &free)?;
    Ok(free)
}

fn written(progress: &Progress) -> String {
    let of_item = |done: &Done| {
        json!({
            "day": done.day.to_string(), "tries": done.tries, "hints": done.hints, "revealed": done.revealed,
            "box": done.shelf, "due": done.due.to_string(),
        })
    };
    let of_lesson = |lesson: &OfLesson| {
        let done: Map<String, Value> =
            lesson.done.iter().map(|(id, done)| (id.clone(), of_item(done))).collect();
        json!({"left_at": lesson.left_at, "done": done})
    };
    let lessons: Map<String, Value> =
        progress.lessons.iter().map(|(name, lesson)| (name.clone(), of_lesson(lesson))).collect();
    format!("{:#}\n", json!({"mha": VERSION, "lessons": lessons}))
}

fn from_json(value: &Value) -> Option<Progress> {
    let item = |value: &Value| {
        let number = |key: &str| value[key].as_u64().and_then(|number| u32::try_from(number).ok());
        let date = |key: &str| value[key].as_str()?.parse::<Date>().ok();
        Some(Done {
            day: date("day")?,
            tries: number("tries")?,
            hints: number("hints")?,
            revealed: value["revealed"].as_bool()?,
            shelf: u8::try_from(number("box")?).ok().filter(|shelf| *shelf <= LAST_BOX)?,
            due: date("due")?,
        })
    };
    let lesson = |value: &Value| {
        let done = value["done"].as_object()?.iter().map(|(id, value)| Some((id.clone(), item(value)?)));
        Some(OfLesson {
            left_at: usize::try_from(value["left_at"].as_u64()?).ok()?,
            done: done.collect::<Option<_>>()?,
        })
    };
    let lessons = value["lessons"].as_object()?;
    let lessons = lessons.iter().map(|(name, value)| Some((name.clone(), lesson(value)?)));
    Some(Progress { lessons: lessons.collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn what_was_missed_comes_back_tomorrow_and_what_is_known_ever_later() {
        let monday = date(2026, 11, 30);
        let missed = Done::today(monday, 2, 0, false, None);
        assert_eq!((missed.shelf, missed.due), (0, date(2026, 12, 1)));
        assert!(!missed.is_due(monday) && missed.is_due(date(2026, 12, 1)));
        // Known after that: 2, 4, 8 … days; missed once more: the next day again.
        let mut done = missed;
        for days in [2i64, 4, 8, 16, 32, 64, 128, 256, 256] {
            let day = done.due;
            done = Done::today(day, 1, 0, false, Some(&done));
            assert_eq!(done.due, day.checked_add(days.days()).unwrap());
        }
        assert_eq!(Done::today(monday, 1, 1, false, Some(&done)).due, date(2026, 12, 1));
        assert_eq!(Done::today(monday, 1, 0, true, Some(&done)).shelf, 0);
        // Known at once: it need not come back tomorrow.
        assert_eq!(Done::today(monday, 1, 0, false, None).due, date(2026, 12, 2));
        assert_eq!(Done::today(Date::MAX, 1, 0, false, None).due, Date::MAX);
    }

    fn done() -> Done {
        Done::today(date(2026, 11, 30), 2, 1, false, None)
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(&folder.path().join("not yet there"));
        assert_eq!(store.read(), (Progress::default(), None));
        let is = store
            .change(|progress| {
                let lesson = progress.lessons.entry("two-heads".into()).or_default();
                lesson.left_at = 3;
                lesson.done.insert("scale \"1\"\n".into(), done());
            })
            .unwrap();
        assert_eq!(store.read(), (is.clone(), None));
        assert_eq!(is.lessons["two-heads"].done["scale \"1\"\n"].tries, 2);
    }

    #[test]
    fn many_dialogues_at_once_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(folder.path());
        std::thread::scope(|scope| {
            for dialogue in 0..4 {
                let store = store.clone();
                scope.spawn(move || {
                    for question in 0..5 {
                        let id = format!("{dialogue}-{question}");
                        store
                            .change(|progress| {
                                progress.lessons.entry("l".into()).or_default().done.insert(id, done());
                            })
                            .unwrap();
                    }
                });
            }
        });
        assert_eq!(store.read().0.lessons["l"].done.len(), 20);
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "only the file and its lock: {left:?}");
    }

    #[test]
    fn a_damaged_file_is_set_aside_and_said() {
        for (text, why) in [
            ("{", "it is damaged"),
            ("", "it is damaged"),
            ("\u{0}", "it is damaged"),
            ("[1]", "it names no version"),
            (r#"{"mha": 1}"#, "it holds something else"),
            (
                r#"{"mha": 1, "lessons": {"a": {"left_at": 0, "done": {"b": {"day": "soon"}}}}}"#,
                "something else",
            ),
            (r#"{"mha": 1, "lessons": {"a": {"left_at": -1, "done": {}}}}"#, "something else"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(FILE), text).unwrap();
            fs::write(folder.path().join("progress.json.damaged"), "an older one").unwrap();
            let store = Store::in_folder(folder.path());
            let (progress, said) = store.read();
            assert_eq!(progress, Progress::default(), "{text}");
            let said = said.unwrap();
            assert!(said.contains(why) && said.contains("progress.json.damaged-2"), "{said}");
            let kept = fs::read_to_string(folder.path().join("progress.json.damaged-2")).unwrap();
            assert_eq!(kept, text);
            assert_eq!(store.read(), (Progress::default(), None));
        }
    }

    #[test]
    fn what_a_newer_mha_has_written_stays_as_it_is() {
        let newer = r#"{"mha": 2, "lessons": {}}"#;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), newer).unwrap();
        let store = Store::in_folder(folder.path());
        let (progress, said) = store.read();
        assert_eq!(progress, Progress::default());
        assert!(said.unwrap().contains("is not used: a newer mha has written it"));
        let fault = store.change(|progress| progress.lessons.clear()).unwrap_err();
        assert_eq!(fault.why, "a newer mha has written it");
        assert_eq!(fs::read_to_string(folder.path().join(FILE)).unwrap(), newer);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_nowhere_and_a_file_made_read_only_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(folder.path());
        let file = folder.path().join(FILE);
        std::os::unix::fs::symlink(folder.path().join("not mounted/progress.json"), &file).unwrap();
        let fault = store.change(|progress| progress.lessons.clear()).unwrap_err();
        assert_eq!(fault.why, "it is a link that leads nowhere");
        assert!(fs::symlink_metadata(&file).unwrap().is_symlink());

        fs::remove_file(&file).unwrap();
        let kept = written(&Progress::default());
        fs::write(&file, &kept).unwrap();
        let mut locked = fs::metadata(&file).unwrap().permissions();
        locked.set_readonly(true);
        fs::set_permissions(&file, locked).unwrap();
        let learn = |progress: &mut Progress| progress.lessons.entry("l".into()).or_default().left_at = 2;
        let fault = store.change(learn).unwrap_err();
        assert_eq!(fault.why, "its permissions do not allow it");
        assert_eq!(fs::read_to_string(&file).unwrap(), kept);
    }

    #[cfg(unix)]
    #[test]
    fn where_nothing_can_be_written_that_is_said() {
        // A file where the folder should be: refused for everybody, root included.
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        fs::write(&taken, "").unwrap();
        let fault = Store::in_folder(&taken).change(|_| ()).unwrap_err();
        assert!(fault.what.starts_with("progress cannot be kept in"), "{fault}");
        assert!(fault.remedy.contains(FOLDER));
    }
}
