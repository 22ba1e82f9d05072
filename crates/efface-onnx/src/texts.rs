//! Networks that take texts, as the numbers of their tokens.

use ort::session::SessionInputValue;
use ort::value::TensorRef;
use tokenizers::{Tokenizer, TruncationParams};

use crate::error::{OpenError, RunError};
use crate::session::{MOST_FEATURES, Output, Runner, check_features, written};

/// A network from texts to features, opened once and run many times.
///
/// Its inputs are `input_ids`, and `attention_mask` and `token_type_ids` if it has them: batch and tokens, signed integers
/// of 64 bits. Its features are the first output: batch and features, or batch, tokens and features, whose mean over the
/// tokens that are not padding is taken. A text is cut off after a number of tokens; one without any token, not even a
/// special one, has features of zero.
///
/// Texts that are worked with together are padded with token 0, which the mask tells apart. A network without a mask gets
/// texts of the same number of tokens together, and none is padded.
///
/// Features are those of ONNX Runtime on this machine: another processor, or other texts in the batch, may change their
/// last bits. So features are stored when a row comes in, and removed as they were stored.
pub struct TextNetwork {
    runner: Runner,
    tokenizer: Tokenizer,
    has_mask: bool,
    /// Sides that the network fixes: texts of a batch, and tokens.
    fixed: [Option<usize>; 2],
    n_features: usize,
}

/// The tokens of a text.
struct Tokens {
    row: usize,
    ids: Vec<u32>,
    kinds: Vec<u32>,
}

impl TextNetwork {
    /// Opens a file and its tokenizer, a `tokenizer.json`. Texts longer than `max_tokens`, special tokens included, are
    /// cut off.
    ///
    /// The tokenizer's last token is run through the network, and as many of it as a text may have: a tokenizer of
    /// another network, or more tokens than the network takes, fail here and not at some row.
    pub fn open(file: &[u8], tokenizer_json: &[u8], max_tokens: usize) -> Result<Self, OpenError> {
        let tokenizer = tokenizer(tokenizer_json, max_tokens)?;
        let runner = Runner::open(file)?;
        let mut fixed = [None; 2];
        for side in runner.inputs() {
            if !INPUTS.contains(&&side.name[..]) {
                return Err(OpenError::TextInput { name: side.name.clone() });
            }
            if side.element != INT {
                let (name, got) = (side.name.clone(), side.element.clone());
                return Err(OpenError::InputType { name, got, expected: INT });
            }
            let [batch, tokens] = side.sides[..] else {
                return Err(OpenError::TextShape { name: side.name.clone(), got: written(&side.sides) });
            };
            fixed = [batch.or(fixed[0]), tokens.or(fixed[1])];
        }
        let has = |name: &str| runner.inputs().iter().any(|side| side.name == name);
        if !has("input_ids") {
            return Err(OpenError::NoTokens);
        }
        let has_mask = has("attention_mask");
        if let Some(batch) = fixed[0].filter(|batch| !(1..=MOST_ROWS).contains(batch)) {
            return Err(OpenError::Batch { got: batch, most: MOST_ROWS });
        }
        if let Some(tokens) = fixed[1] {
            if tokens < max_tokens {
                return Err(OpenError::FewerTokens { tokens, max_tokens });
            }
            if !has_mask {
                return Err(OpenError::NoMask { tokens });
            }
        }
        let mut network = Self { runner, tokenizer, has_mask, fixed, n_features: 0 };
        let largest = network.tokenizer.get_vocab(true).into_values().max().unwrap_or(0);
        let probe = |n| Tokens { row: 0, ids: vec![largest; n], kinds: vec![0; n] };
        // Which part is to blame is not in the library's message.
        network.run(&[&Tokens { ids: vec![0], ..probe(1) }]).map_err(|reason| OpenError::Probe { reason })?;
        let output = network.run(&[&probe(1)]).map_err(|reason| OpenError::OtherTokenizer { largest, reason })?;
        network.run(&[&probe(max_tokens)]).map_err(|reason| OpenError::TooManyTokens { max_tokens, reason })?;
        network.n_features = match output.sides[..] {
            [_, n] | [_, _, n] if (1..=MOST_FEATURES).contains(&n) => n,
            _ => return Err(OpenError::TextFeatures { got: format!("{:?}", output.sides) }),
        };
        Ok(network)
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Writes the features of texts.
    pub fn apply(&self, texts: &[&str], out: &mut [f32]) -> Result<(), RunError> {
        RunError::check_output(texts.len(), out.len(), self.n_features)?;
        for (i, (texts, out)) in texts.chunks(BLOCK).zip(out.chunks_mut(BLOCK * self.n_features)).enumerate() {
            self.apply_block(i * BLOCK, texts, out)?;
        }
        Ok(())
    }

    /// Texts of about the same number of tokens go together.
    fn apply_block(&self, first: usize, texts: &[&str], out: &mut [f32]) -> Result<(), RunError> {
        let encoded = self.tokenizer.encode_batch_fast(texts.to_vec(), true);
        let encoded = encoded.map_err(|error| RunError::Tokens { row: first, reason: error.to_string() })?;
        let tokens = encoded.iter().enumerate().map(|(row, encoding)| Tokens {
            row,
            ids: encoding.get_ids().to_vec(),
            kinds: encoding.get_type_ids().to_vec(),
        });
        let (empty, mut tokens): (Vec<_>, Vec<_>) = tokens.partition(|tokens| tokens.ids.is_empty());
        tokens.sort_by_key(|tokens| tokens.ids.len());
        let n = self.n_features;
        for tokens in empty {
            out[tokens.row * n..][..n].fill(0.0);
        }
        for batch in self.batches(&tokens) {
            let values = self.features(first, &batch)?;
            for (tokens, values) in batch.iter().zip(values.chunks_exact(n)) {
                check_features(first + tokens.row, values, n)?;
                out[tokens.row * n..][..n].copy_from_slice(values);
            }
        }
        Ok(())
    }

    /// Groups of what is sorted by length: bounded, and of one length where padding would be seen.
    fn batches<'t>(&self, tokens: &'t [Tokens]) -> Vec<Vec<&'t Tokens>> {
        let most = self.fixed[0].unwrap_or(ROWS);
        let mut batches: Vec<Vec<&Tokens>> = Vec::new();
        for text in tokens {
            let length = text.ids.len();
            match batches.last_mut() {
                Some(batch)
                    if batch.len() < most
                        && (batch.len() + 1) * length <= MOST_TOKENS
                        && (self.has_mask || batch[0].ids.len() == length) =>
                {
                    batch.push(text);
                }
                _ => batches.push(vec![text]),
            }
        }
        batches
    }

    /// The features of a batch, text by text. If it fails, the first text that fails alone is named.
    fn features(&self, first: usize, batch: &[&Tokens]) -> Result<Vec<f32>, RunError> {
        let refused = |text: &Tokens, reason| RunError::Refused { row: first + text.row, reason };
        let output = match self.run(batch) {
            Ok(output) => output,
            Err(reason) => {
                let alone = batch.iter().find_map(|text| self.run(&[*text]).err().map(|reason| (*text, reason)));
                let (text, reason) = alone.unwrap_or((batch[0], reason));
                return Err(refused(text, reason));
            }
        };
        let n = self.n_features;
        match output.sides[..] {
            [rows, width] if rows >= batch.len() && width == n => Ok(output.values),
            [rows, tokens, width] if rows >= batch.len() && width == n && tokens >= longest(batch) => {
                let texts = batch.iter().zip(output.values.chunks_exact(tokens * n));
                Ok(texts.flat_map(|(text, values)| mean(&values[..text.ids.len() * n], n)).collect())
            }
            _ => {
                Err(refused(batch[0], format!("it answered a batch of {} texts with {:?}", batch.len(), output.sides)))
            }
        }
    }

    fn run(&self, batch: &[&Tokens]) -> Result<Output, String> {
        let rows = self.fixed[0].unwrap_or(batch.len());
        let columns = self.fixed[1].unwrap_or(longest(batch));
        // Rows that only fill up a batch have one token: a mask of zeros would be divided by.
        let padded = |of: &dyn Fn(&Tokens) -> Vec<u32>, filler: i64| {
            let mut numbers = vec![0_i64; rows * columns];
            numbers[batch.len() * columns..].iter_mut().step_by(columns).for_each(|v| *v = filler);
            for (text, numbers) in batch.iter().zip(numbers.chunks_exact_mut(columns)) {
                numbers.iter_mut().zip(of(text)).for_each(|(place, v)| *place = i64::from(v));
            }
            numbers
        };
        let numbers = [
            padded(&|text| text.ids.clone(), 0),
            padded(&|text| vec![1; text.ids.len()], 1),
            padded(&|text| text.kinds.clone(), 0),
        ];
        let named = INPUTS.into_iter().zip(&numbers);
        let taken = named.filter(|(name, _)| self.runner.inputs().iter().any(|side| side.name == *name));
        let tensors = taken.map(|(name, numbers)| {
            let tensor =
                TensorRef::from_array_view(([rows, columns], &numbers[..])).map_err(|error| error.to_string())?;
            Ok((name, SessionInputValue::from(tensor)))
        });
        self.runner.run(tensors.collect::<Result<_, String>>()?)
    }
}

/// The tokenizer, without the padding and with no cut but ours.
fn tokenizer(json: &[u8], max_tokens: usize) -> Result<Tokenizer, OpenError> {
    let refused = |error: tokenizers::Error| OpenError::Tokenizer { reason: error.to_string() };
    let mut tokenizer = Tokenizer::from_bytes(json).map_err(refused)?;
    tokenizer.with_padding(None).with_truncation(None).map_err(refused)?;
    let n_special = tokenizer.encode_fast("", true).map_err(refused)?.len();
    if !(n_special + 1..=MOST_TOKENS).contains(&max_tokens) {
        return Err(OpenError::MaxTokens { max_tokens, least: n_special + 1, most: MOST_TOKENS });
    }
    let cut = TruncationParams { max_length: max_tokens, ..TruncationParams::default() };
    tokenizer.with_truncation(Some(cut)).map_err(refused)?;
    Ok(tokenizer)
}

fn longest(batch: &[&Tokens]) -> usize {
    batch.iter().map(|text| text.ids.len()).max().unwrap_or(0)
}

/// The mean over the tokens of a text.
fn mean(tokens: &[f32], n: usize) -> Vec<f32> {
    let mut sums = vec![0.0_f64; n];
    for values in tokens.chunks_exact(n) {
        sums.iter_mut().zip(values).for_each(|(sum, v)| *sum += f64::from(*v));
    }
    let scale = 1.0 / (tokens.len() / n) as f64;
    sums.into_iter().map(|sum| (sum * scale) as f32).collect()
}

/// In the order of what they are filled with.
const INPUTS: [&str; 3] = ["input_ids", "attention_mask", "token_type_ids"];

/// What the library calls signed integers of 64 bits.
const INT: &str = "i64";

/// Texts that are sorted by length together.
const BLOCK: usize = 1024;

/// Texts that are worked with at a time.
const ROWS: usize = 32;

/// Of a network with a fixed batch.
const MOST_ROWS: usize = 1024;

/// Of a batch, and of a text.
const MOST_TOKENS: usize = 1 << 14;
