//! Keeps what is done of one lesson, in memory and in the file of progress.

use jiff::civil::Date;

use crate::course::progress::{Done, OfLesson, Progress, Store};
use crate::fault::Fault;
use crate::words::t;

/// What is done of one lesson.
pub struct Keeper<'a> {
    store: &'a Store,
    lesson: String,
    today: Date,
    of: OfLesson,
    is_kept: bool,
}

impl<'a> Keeper<'a> {
    /// Of the lesson that the file of progress knows under this name.
    pub fn new(store: &'a Store, lesson: &str, today: Date) -> Self {
        let (mut progress, _) = store.read();
        let of = progress.lessons.remove(lesson).unwrap_or_default();
        Self { store, lesson: lesson.to_owned(), today, of, is_kept: true }
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
        let today = self.today;
        self.change(|of| {
            let done = Done::today(today, tries, hints, revealed, of.done.get(id));
            of.done.insert(id.to_owned(), done);
        })
    }

    /// Notes where the lesson goes on; the first time that this cannot be kept, why.
    pub fn leave_at(&mut self, part: usize) -> Option<String> {
        if self.of.left_at == part {
            return None;
        }
        self.change(|of| of.left_at = part)
    }

    /// Forgets all of it.
    pub fn forget(&mut self) -> Option<String> {
        self.change(|of| *of = OfLesson::default())
    }

    fn change(&mut self, change: impl Fn(&mut OfLesson)) -> Option<String> {
        change(&mut self.of);
        let in_file =
            |progress: &mut Progress| change(progress.lessons.entry(self.lesson.clone()).or_default());
        match self.store.change(in_file) {
            Ok(progress) => {
                self.of = progress.lessons.get(&self.lesson).cloned().unwrap_or_default();
                None
            }
            Err(Fault { what, why, remedy, .. }) => std::mem::take(&mut self.is_kept).then(|| {
                t!(
                    "Note: %{what} (%{why}). The lesson goes on; %{remedy}.",
                    what = what,
                    why = why,
                    remedy = remedy
                )
            }),
        }
    }
}
