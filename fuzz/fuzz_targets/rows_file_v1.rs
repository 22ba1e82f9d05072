#![no_main]

efface_fuzz_targets::target!("rows_file_v1");
