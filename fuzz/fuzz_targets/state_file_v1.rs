#![no_main]

efface_fuzz_targets::target!("state_file_v1");
