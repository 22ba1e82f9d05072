#![no_main]

efface_fuzz_targets::target!("statement");
