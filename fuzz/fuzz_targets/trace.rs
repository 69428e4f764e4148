#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headway_fuzz::trace::check(bytes));
