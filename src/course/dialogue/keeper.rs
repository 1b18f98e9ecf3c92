//! Keeps what is done of one lesson, in memory and in the file of progress.

use jiff::civil::Date;

use crate::course::progress::{Done, OfLesson, Progress, Store};
use crate::fault::Fault;
use crate::words::t;

/// Something that was done of a lesson.
type Change = Box<dyn Fn(&mut OfLesson)>;

/// What is done of one lesson.
pub struct Keeper<'a> {
    store: &'a Store,
    lesson: String,
    today: Date,
    of: OfLesson,
    /// What the file does not have yet: it could not be written, and may be again by the next answer.
    unkept: Vec<Change>,
    has_said_so: bool,
}

impl<'a> Keeper<'a> {
    /// Of the lesson that the file of progress knows under this name.
    pub fn new(store: &'a Store, lesson: &str, today: Date) -> Self {
        let (mut progress, _) = store.read();
        let of = progress.lessons.remove(lesson).unwrap_or_default();
        Self { store, lesson: lesson.to_owned(), today, of, unkept: Vec::new(), has_said_so: false }
    }

    /// What is done so far.
    pub fn of(&self) -> &OfLesson {
        &self.of
    }

    /// How a question or a task was done, where it was.
    pub fn done(&self, id: &str) -> Option<&Done> {
        self.of.done.get(id)
    }

    /// Notes that a question or a task was done; the first time that this cannot be kept, why.
    pub fn finish(&mut self, id: &str, tries: u32, hints: u32, revealed: bool) -> Option<String> {
        let (today, id) = (self.today, id.to_owned());
        self.change(Box::new(move |of| {
            let done = Done::today(today, tries, hints, revealed, of.done.get(&id));
            of.done.insert(id.clone(), done);
        }))
    }

    /// Notes where the lesson goes on; the first time that this cannot be kept, why.
    pub fn leave_at(&mut self, part: usize) -> Option<String> {
        if self.of.left_at == part {
            return None;
        }
        self.change(Box::new(move |of| of.left_at = part))
    }

    /// Forgets all of it.
    pub fn forget(&mut self) -> Option<String> {
        self.change(Box::new(|of| *of = OfLesson::default()))
    }

    fn change(&mut self, change: Change) -> Option<String> {
        change(&mut self.of);
        self.unkept.push(change);
        let in_file = |progress: &mut Progress| {
            let of = progress.lessons.entry(self.lesson.clone()).or_default();
            self.unkept.iter().for_each(|change| change(of));
        };
        match self.store.change(in_file) {
            Ok(progress) => {
                self.of = progress.lessons.get(&self.lesson).cloned().unwrap_or_default();
                self.unkept.clear();
                None
            }
            Err(Fault { what, why, remedy, .. }) => {
                (!std::mem::replace(&mut self.has_said_so, true)).then(|| {
                    t!(
                        "Note: %{what} (%{why}). The lesson goes on; %{remedy}.",
                        what = what,
                        why = why,
                        remedy = remedy
                    )
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jiff::civil::date;

    use super::*;

    #[test]
    fn what_could_not_be_kept_is_kept_with_the_next_answer_that_can() {
        let room = tempfile::tempdir().unwrap();
        // A file where the folder should be: refused for everybody, root included.
        let folder = room.path().join("data");
        fs::write(&folder, "").unwrap();
        let store = Store::in_folder(&folder);
        let mut keeper = Keeper::new(&store, "l", date(2026, 11, 30));
        assert!(keeper.finish("a", 1, 0, false).unwrap().starts_with("Note: progress cannot be kept in"));
        assert_eq!(keeper.finish("b", 2, 0, false), None, "it is said once");
        assert_eq!(keeper.of().done.len(), 2);
        fs::remove_file(&folder).unwrap();
        assert_eq!(keeper.finish("c", 1, 0, false), None);
        let kept = &store.read().0.lessons["l"];
        assert_eq!(kept, keeper.of());
        let tries: Vec<_> = kept.done.iter().map(|(id, done)| (id.as_str(), done.tries)).collect();
        assert_eq!(tries, [("a", 1), ("b", 2), ("c", 1)]);
    }
}
