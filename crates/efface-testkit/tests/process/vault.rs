//! Rows whose sums are made in another process: a request goes through a pipe, and the sum comes back, both as bytes.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use efface_core::rounding::UpperBound;
use efface_core::rows::{RowShape, RowStore, StoreError};
use efface_core::sums::{SumRequest, Sums};
use efface_data::{Access, EncodedRows, MemoryRows, StoredRows, Vault, VaultError};

/// Rows in segments, and the process that adds them up.
pub(crate) struct ProcessVault {
    rows: StoredRows,
    worker: Mutex<Child>,
}

impl ProcessVault {
    /// Starts a process that reads the segments of the same folder: this program, which calls [`serve`].
    pub(crate) fn new(rows: StoredRows, folder: &Path) -> io::Result<Self> {
        let (program, bound) = (std::env::current_exe()?, rows.shape().row_norm_bound.get().to_string());
        let mut command = Command::new(program);
        command.arg("--serve").arg(folder).arg(bound).stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(Self { rows, worker: Mutex::new(command.spawn()?) })
    }

    fn ask(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        let mut worker = self.worker.lock().map_err(|_| io::ErrorKind::BrokenPipe)?;
        let Child { stdin: Some(to), stdout: Some(from), .. } = &mut *worker else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let gone = (0..self.rows.len()).filter(|position| !self.rows.is_present(*position));
        let positions = std::iter::once(self.rows.len()).chain(gone);
        send(to, &positions.flat_map(|position| (position as u64).to_le_bytes()).collect::<Vec<_>>())?;
        send(to, request)?;
        receive(from)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Drop for ProcessVault {
    fn drop(&mut self) {
        if let Ok(worker) = self.worker.get_mut() {
            drop(worker.stdin.take());
            let _ = worker.wait();
        }
    }
}

impl RowStore for ProcessVault {
    fn shape(&self) -> RowShape {
        self.rows.shape()
    }

    fn sum(&self, request: &SumRequest<'_>) -> Result<Sums, StoreError> {
        let answer = self.ask(&request.to_bytes()).map_err(|error| StoreError(error.into()))?;
        Sums::from_bytes(&answer).map_err(|error| StoreError(error.into()))
    }
}

impl Vault for ProcessVault {
    fn n_positions(&self) -> usize {
        self.rows.n_positions()
    }

    fn is_present(&self, position: usize) -> bool {
        self.rows.is_present(position)
    }

    fn pass(&self, passes: &mut dyn FnMut(&dyn RowStore)) {
        passes(self);
    }

    fn check(&self) -> Result<(), VaultError> {
        self.rows.check()
    }

    fn batch(&self, positions: &[usize]) -> Result<MemoryRows, VaultError> {
        Vault::batch(&self.rows, positions)
    }

    fn arrive(&mut self, rows: &EncodedRows, selectors: &[u64]) -> Result<Range<usize>, VaultError> {
        self.rows.arrive(rows, selectors)
    }

    fn leave(&mut self, positions: &[usize]) -> Result<(), VaultError> {
        self.rows.leave(positions)
    }

    fn undo(&mut self, left: &[usize], arrived: Range<usize>) -> Result<(), VaultError> {
        self.rows.undo(left, arrived)
    }

    fn purge(&mut self, positions: &[usize]) -> Result<(), VaultError> {
        Vault::purge(&mut self.rows, positions)
    }
}

/// The other process: answers requests about the rows of a folder until nobody asks any more.
pub(crate) fn serve(arguments: &[String]) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (folder, bound) = (PathBuf::from(&arguments[0]), UpperBound::new(arguments[1].parse()?));
    let (mut from, mut to) = (io::stdin().lock(), io::stdout().lock());
    while let Some(positions) = receive(&mut from)? {
        let request = receive(&mut from)?.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        let (positions, _) = positions.as_chunks::<8>();
        let positions: Vec<usize> = positions.iter().map(|bytes| u64::from_le_bytes(*bytes) as usize).collect();
        let gone = positions[1..].iter().copied().collect();
        let rows = StoredRows::open(Access::Read, &folder, bound, 1 << 20, positions[0], gone, None)?;
        send(&mut to, &SumRequest::answer(&request, &rows).map_err(|error| error.0)?)?;
    }
    Ok(())
}

fn send(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

fn receive(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut len = [0; 8];
    match from.read_exact(&mut len) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut bytes = vec![0; u64::from_le_bytes(len) as usize];
    from.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}
