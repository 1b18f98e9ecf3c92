#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mha_fuzz::targets::tokenizer(data));
