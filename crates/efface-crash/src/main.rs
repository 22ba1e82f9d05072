//! Performs one request on a model directory below the current folder, and answers with a line once it is done.

use std::io::Write;

use efface_crash::request::Job;

fn main() -> Result<(), String> {
    let text = std::env::args().nth(1).ok_or("one request, as JSON")?;
    let job: Job = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    job.run()?;
    writeln!(std::io::stdout(), "done").map_err(|error| error.to_string())
}
