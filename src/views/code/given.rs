//! What a lesson brings along, as Python literals.

use super::groups::Group;
use super::literal::{exact, nested};
use super::text::comment;
use super::{Author, uses};
use crate::arrays::Array;
use crate::plan::{Axis, Name, Projection};

/// An array that has a name of its own.
fn known(array: &Array, author: &Author<'_>) -> Option<String> {
    let module = author.library.module;
    let shape: Vec<String> = array.shape.iter().map(ToString::to_string).collect();
    let shape = if let [one] = shape.as_slice() { one.clone() } else { format!("({})", shape.join(", ")) };
    match regular(array)? {
        Regular::Identity => Some(format!("{module}.eye({})", array.shape[0])),
        Regular::Zeros => Some(format!("{module}.zeros({shape})")),
        Regular::Ones => Some(format!("{module}.ones({shape})")),
    }
}

/// What a library makes by name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Regular {
    Identity,
    Zeros,
    Ones,
}

fn regular(array: &Array) -> Option<Regular> {
    let all = |number: f64| array.data.iter().all(|value| *value == number);
    match *array.shape {
        _ if array.data.len() < 2 => None,
        _ if all(0.0) => Some(Regular::Zeros),
        _ if all(1.0) => Some(Regular::Ones),
        [rows, columns] if rows == columns => {
            let unit = |(at, value): (usize, &f64)| *value == f64::from(u8::from(at % (columns + 1) == 0));
            array.data.iter().enumerate().all(unit).then_some(Regular::Identity)
        }
        _ => None,
    }
}

/// How many numbers a program would type for a group.
pub(super) fn typed(group: &Group<'_>) -> usize {
    if group.is_given() && regular(&group.array).is_some() { 0 } else { group.array.data.len() }
}

/// Where a group stands among what is given: inputs first, then each projection with its bias.
fn order(name: Name) -> (usize, Option<Projection>) {
    match name {
        Name::X => (0, None),
        Name::XKv => (1, None),
        Name::W(projection) | Name::B(projection) => (3, Some(projection)),
        _ => (2, None),
    }
}

impl Author<'_> {
    fn groups_given(&self) -> Vec<&Group<'_>> {
        let mut given: Vec<&Group<'_>> = self.groups.iter().filter(|group| group.is_given()).collect();
        given.sort_by_key(|group| order(group.first().id.name));
        given
    }

    /// Assignments of everything given.
    pub(super) fn given(&self) -> String {
        let mut code = String::new();
        for group in self.groups_given() {
            let name = &group.name;
            let value = known(&group.array, self).unwrap_or_else(|| self.loaded_or_typed(group));
            code += &self.line(&format!("{name} = {value}"), group);
        }
        code
    }

    /// The numbers of a group: out of the file where there is one, else typed.
    pub(super) fn loaded_or_typed(&self, group: &Group<'_>) -> String {
        let (before, after) = self.library.loaded;
        if self.reads_file {
            format!("{before}trace[\"{}\"]{after}", group.name)
        } else {
            self.typed_with_names(group)
        }
    }

    /// What is told of everything given.
    pub(super) fn given_words(&self) -> Vec<String> {
        self.groups_given().into_iter().flat_map(|group| self.words(group)).collect()
    }

    /// An array of a literal; whole numbers get the type of the others.
    pub(super) fn array(&self, cells: &[f64], shape: &[usize], before: usize) -> String {
        let texts: Vec<String> = cells.iter().copied().map(exact).collect();
        let close = self.typed_close(cells);
        let open = format!("{}(", self.library.array);
        let list = nested(&texts, shape, 0, before + open.len(), close.len());
        format!("{open}{list}{close}")
    }

    fn typed_close(&self, cells: &[f64]) -> String {
        let whole = cells.iter().all(|cell| cell.fract() == 0.0 && cell.abs() < 1e16);
        if whole { format!(", dtype={})", self.library.float) } else { ")".to_owned() }
    }

    /// A matrix with a row a line, and the tokens' names beside their rows.
    fn typed_with_names(&self, group: &Group<'_>) -> String {
        let Array { shape, data, .. } = &group.array;
        let [rows, columns] = shape.as_slice() else { return self.array(data, shape, group.name.len() + 3) };
        if *rows == 1 {
            return self.array(data, shape, group.name.len() + 3);
        }
        let labels = &self.source.scene.labels;
        let names = match group.first().axes.0 {
            Axis::Queries => labels.queries.as_slice(),
            Axis::Keys => labels.keys.as_slice(),
            _ => &[],
        };
        let mut text = format!("{}([\n", self.library.array);
        for (at, row) in data.chunks(*columns).enumerate() {
            let cells: Vec<String> = row.iter().copied().map(exact).collect();
            // Tokens without names are called by their number, which says nothing here.
            let name = names.get(at).filter(|name| **name != (at + 1).to_string()).map_or("", String::as_str);
            let list = nested(&cells, &[*columns], 4, 4, 1);
            text += &format!("    {list},{}\n", comment(name, &self.source.scene.page));
        }
        text + "]" + &self.typed_close(data)
    }

    /// Imports, what is read from a file, sizes, and the functions that the code calls.
    pub(super) fn setup(&self, code: &str) -> String {
        let mut setup = String::new();
        let constants: Vec<&str> = ["inf", "nan"].into_iter().filter(|name| uses(code, name)).collect();
        if !constants.is_empty() {
            setup += &format!("from math import {}\n\n", constants.join(", "));
        }
        let needed = |line: &&str| !line.ends_with(" as F") || code.contains("F.");
        setup.extend(self.library.imports.lines().filter(needed).flat_map(|line| [line, "\n"]));
        if self.reads_file {
            setup += &format!("\ntrace = np.load(\"inputs.npz\")  # made by: {}\n", self.making_inputs());
        }
        let sizes = self.sizes(code);
        if !sizes.is_empty() {
            setup += &format!("\n{sizes}");
        }
        for function in self.functions(code) {
            setup += &format!("\n\n{function}");
        }
        setup
    }

    /// The command that makes `inputs.npz`, on one line.
    fn making_inputs(&self) -> String {
        self.source.scene.page.letters(&crate::fault::visible(&self.source.making_inputs()))
    }

    fn sizes(&self, code: &str) -> String {
        let attention = self.source.scene.attention;
        let scores = self.groups.iter().find(|group| group.name == "scores");
        let (n_q, n_kv) = scores.map_or((0, 0), |group| group.first().shape);
        let all = [
            ("num_heads", attention.num_heads),
            ("num_kv_heads", attention.num_kv_heads),
            ("d_k", attention.d_k),
            ("n_q", n_q),
            ("n_kv", n_kv),
            ("n", n_q),
        ];
        let needed = |name: &str| uses(code, name) || (name.starts_with("num") && uses(code, "group"));
        let used: Vec<_> = all.into_iter().filter(|(name, _)| needed(name)).collect();
        if used.is_empty() {
            return String::new();
        }
        let names: Vec<&str> = used.iter().map(|(name, _)| *name).collect();
        let values: Vec<String> = used.iter().map(|(_, value)| value.to_string()).collect();
        let mut sizes = format!("{} = {}\n", names.join(", "), values.join(", "));
        if uses(code, "group") {
            sizes += "group = num_heads // num_kv_heads  # query heads that share a key/value head\n";
        }
        sizes
    }

    /// Keeps every array under its name.
    pub(super) fn saving(&self) -> String {
        let mut lines = vec!["np.savez(".to_owned(), "    \"answers.npz\",".to_owned()];
        let mut line = String::new();
        for group in self.groups {
            let item = format!("{}={},", group.name, self.checked(group));
            if line.len() + item.len() + 5 > super::literal::ROOM && !line.is_empty() {
                lines.push(format!("   {line}"));
                line.clear();
            }
            line += &format!(" {item}");
        }
        lines.push(format!("   {line}"));
        lines.join("\n") + "\n)\n"
    }
}
