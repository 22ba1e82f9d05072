//! Runs attacks: `cargo run -p efface-attacks -- all`, or the name of one. Ends with 0 when every one was repelled, with 1
//! when one succeeded, with 2 when one could not be carried out.

#![expect(clippy::print_stdout, reason = "the story of the attack is the output")]

use std::process::ExitCode;

use efface_attacks::{ALL, Attack};

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let chosen: Vec<&dyn Attack> =
        ALL.into_iter().filter(|attack| names.iter().any(|name| name == attack.name() || name == "all")).collect();
    let unknown = names.iter().find(|name| *name != "all" && !ALL.iter().any(|attack| attack.name() == *name));
    if chosen.is_empty() || unknown.is_some() {
        if let Some(name) = unknown {
            eprintln!("error: there is no attack `{name}`");
        }
        let known: Vec<&str> = ALL.iter().map(|attack| attack.name()).collect();
        eprintln!("usage: cargo run -p efface-attacks -- all|{}", known.join("|"));
        return ExitCode::from(2);
    }
    let mut code = 0;
    for attack in chosen {
        println!("{}\n  {}\n", attack.name(), attack.story());
        match attack.run() {
            Ok(outcome) => {
                println!("{outcome}");
                let repelled = outcome.is_repelled();
                println!("  {}: {}\n", attack.name(), if repelled { "REPELLED" } else { "SUCCEEDED" });
                code = code.max(u8::from(!repelled));
            }
            Err(error) => {
                eprintln!("error: {}: {error:#}", attack.name());
                code = 2;
            }
        }
    }
    ExitCode::from(code)
}
