//! The fuzz targets of `mha`; what each does stands in [`targets`].

pub mod targets;
