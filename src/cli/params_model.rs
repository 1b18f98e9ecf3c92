//! `mha params` of a whole model: from a `config.json`, a folder, or weights.

use std::path::Path;

use super::output::{self, Content};
use super::{Common, Ending};
use crate::arrays::Document;
use crate::fault::{Faults, Outcome, Place};
use crate::params::Dtype;
use crate::params::architecture::flops::Lengths;
use crate::params::architecture::{self, Asked};
use crate::views::model_json;

/// Counts the model of a config file and writes the report.
pub(super) fn run(
    path: &Path,
    asked: &Asked,
    lengths: Lengths,
    batch: u64,
    kv: Dtype,
    common: &Common,
) -> Outcome<Ending> {
    let document = Document::read(path)?;
    let model = architecture::build(&document.value, asked).map_err(|faults| placed(faults, &document))?;
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let value = model_json::whole(&model, &name, lengths, batch, kv)?;
    output::write(common, Content::Text, |out| {
        serde_json::to_writer_pretty(&mut *out, &value)?;
        writeln!(out)
    })?;
    Ok(Ending::Done)
}

/// Gives faults the line of the key that they name.
fn placed(Faults(faults): Faults, document: &Document) -> Faults {
    let place = |fault: crate::fault::Fault| match &fault.place {
        Some(place) if place.source.is_empty() => {
            let found = document.place(&place.path);
            let path = place.path.clone();
            fault.at(Place { path, ..found })
        }
        Some(_) => fault,
        None => fault.at(document.place("")),
    };
    Faults(faults.into_iter().map(place).collect())
}
