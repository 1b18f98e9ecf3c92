//! A folder in which files are made that are large only by what they say.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Three tokens, d_model = 4, two heads.
pub(crate) const SMALL: &str = "attention: {num_heads: 2}\n\
    inputs: {x: [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]}\n\
    projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}\n";

/// A folder of its own for one request.
pub(crate) struct Room(tempfile::TempDir);

impl Room {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// A file that begins so and is so long, the rest a hole of zeros that takes no place on the disk.
    pub(crate) fn sparse(&self, name: &str, beginning: &[u8], length: u64) {
        self.write(name, beginning);
        let mut file = File::options().write(true).open(self.at(name)).unwrap();
        file.seek(SeekFrom::Start(length - 1)).unwrap();
        file.write_all(&[0]).unwrap();
    }

    /// A lesson of this text, traced.
    pub(crate) fn traced(&self, lesson: impl AsRef<[u8]>) -> Vec<String> {
        self.write("lesson.yaml", lesson);
        words("trace lesson.yaml --summary")
    }

    /// The small lesson and more sections, validated.
    pub(crate) fn validated(&self, more: &str) -> Vec<String> {
        self.write("lesson.yaml", format!("{SMALL}{more}"));
        words("lessons validate lesson.yaml")
    }

    /// A lesson whose x is drawn.
    pub(crate) fn drawn(&self, shape: &str, attention: &str) -> Vec<String> {
        self.traced(drawn(shape, attention))
    }
}

/// A lesson whose x is this, and whose projections change nothing.
pub(crate) fn lesson(x: &str, attention: &str) -> String {
    format!(
        "attention: {{{attention}}}\ninputs: {{x: {x}}}\n\
         projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n"
    )
}

/// A lesson whose x is drawn at random in this shape.
pub(crate) fn drawn(shape: &str, attention: &str) -> String {
    lesson(&format!("{{random: {{seed: 1, shape: {shape}}}}}"), attention)
}

/// So many equal rows, typed.
pub(crate) fn rows(count: usize, width: usize) -> String {
    let row = format!("[{}1]", "2,".repeat(width - 1));
    format!("[{}]", vec![row; count].join(","))
}

/// Words with blanks between them.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split(' ').map(ToOwned::to_owned).collect()
}
