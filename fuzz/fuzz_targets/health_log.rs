#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nandscope_fuzz::bodies::health_log(data));
