#![no_main]

efface_fuzz_targets::target!("raw_csv");
