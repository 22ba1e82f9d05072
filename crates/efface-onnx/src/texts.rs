//! Networks that take texts, as the numbers of their tokens.

use ort::session::SessionInputValue;
use ort::value::TensorRef;
use rayon::prelude::*;
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
/// Texts are worked with one at a time, beside texts of one token where the batch is fixed, and padded with token 0 where the
/// number of tokens is: whatever a network does with a batch, the features of a text depend on no other one. They are those
/// of ONNX Runtime on this machine, and another processor may change their last bits. So features are stored when a row
/// comes in, and removed as they were stored.
pub struct TextNetwork {
    runner: Runner,
    tokenizer: Tokenizer,
    /// Sides that the network fixes: texts of a batch, and tokens.
    fixed: [Option<usize>; 2],
    n_features: usize,
    /// Whether it gives a list of features per token.
    is_per_token: bool,
}

/// The tokens of a text.
struct Tokens {
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
        if let Some(batch) = fixed[0].filter(|batch| !(1..=MOST_ROWS).contains(batch)) {
            return Err(OpenError::Batch { got: batch, most: MOST_ROWS });
        }
        if let Some(tokens) = fixed[1] {
            if tokens < max_tokens {
                return Err(OpenError::FewerTokens { tokens, max_tokens });
            }
            if !has("attention_mask") {
                return Err(OpenError::NoMask { tokens });
            }
        }
        let mut network = Self { runner, tokenizer, fixed, n_features: 0, is_per_token: false };
        let largest = network.tokenizer.get_vocab(true).into_values().max().unwrap_or(0);
        let probe = |n| Tokens { ids: vec![largest; n], kinds: vec![0; n] };
        // Which part is to blame is not in the library's message.
        network.run(&Tokens { ids: vec![0], ..probe(1) }).map_err(|reason| OpenError::Probe { reason })?;
        let output = network.run(&probe(1)).map_err(|reason| OpenError::OtherTokenizer { largest, reason })?;
        network.run(&probe(max_tokens)).map_err(|reason| OpenError::TooManyTokens { max_tokens, reason })?;
        network.n_features = match output.sides[..] {
            [_, n] | [_, _, n] if (1..=MOST_FEATURES).contains(&n) => n,
            _ => return Err(OpenError::TextFeatures { got: format!("{:?}", output.sides) }),
        };
        network.is_per_token = output.sides.len() == 3;
        Ok(network)
    }

    /// Whether features are means over tokens, which the network itself does not take: [`crate::pooled`] makes it do so.
    pub fn is_per_token(&self) -> bool {
        self.is_per_token
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Writes the features of texts.
    pub fn apply(&self, texts: &[&str], out: &mut [f32]) -> Result<(), RunError> {
        RunError::check_output(texts.len(), out.len(), self.n_features)?;
        let rows = texts.par_iter().zip(out.par_chunks_exact_mut(self.n_features)).enumerate();
        let failed = rows.find_map_first(|(row, (text, out))| self.apply_to(row, text, out).err());
        failed.map_or(Ok(()), Err)
    }

    fn apply_to(&self, row: usize, text: &str, out: &mut [f32]) -> Result<(), RunError> {
        let encoding = self.tokenizer.encode_fast(text, true);
        let encoding = encoding.map_err(|error| RunError::Tokens { row, reason: error.to_string() })?;
        let tokens = Tokens { ids: encoding.get_ids().to_vec(), kinds: encoding.get_type_ids().to_vec() };
        let (n, n_tokens) = (out.len(), tokens.ids.len());
        if n_tokens == 0 {
            out.fill(0.0);
            return Ok(());
        }
        let refused = |reason| RunError::Refused { row, reason };
        let Output { sides, values } = self.run(&tokens).map_err(refused)?;
        match sides[..] {
            [rows, width] if rows > 0 && width == n => out.copy_from_slice(&values[..n]),
            [rows, tokens, width] if rows > 0 && width == n && tokens >= n_tokens => {
                write_mean(&values[..n_tokens * n], out);
            }
            _ => return Err(refused(format!("it answered a text with {sides:?}"))),
        }
        check_features(row, out)
    }

    fn run(&self, text: &Tokens) -> Result<Output, String> {
        let (rows, columns) = (self.fixed[0].unwrap_or(1), self.fixed[1].unwrap_or(text.ids.len()));
        // Rows that only fill up a batch have one token: a mask of zeros would be divided by.
        let padded = |of: &[u32], filler: i64| {
            let mut numbers = vec![0_i64; rows * columns];
            numbers.iter_mut().step_by(columns).for_each(|v| *v = filler);
            numbers.iter_mut().zip(of).for_each(|(place, v)| *place = i64::from(*v));
            numbers
        };
        let numbers = [padded(&text.ids, 0), padded(&vec![1; text.ids.len()], 1), padded(&text.kinds, 0)];
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

/// The mean over the tokens of a text.
fn write_mean(tokens: &[f32], out: &mut [f32]) {
    let (n, scale) = (out.len(), out.len() as f64 / tokens.len() as f64);
    for (i, out) in out.iter_mut().enumerate() {
        let sum: f64 = tokens.iter().skip(i).step_by(n).map(|v| f64::from(*v)).sum();
        *out = (sum * scale) as f32;
    }
}

/// In the order of what they are filled with.
const INPUTS: [&str; 3] = ["input_ids", "attention_mask", "token_type_ids"];

/// What the library calls signed integers of 64 bits.
const INT: &str = "i64";

/// Of a network with a fixed batch.
const MOST_ROWS: usize = 1024;

/// Of a text.
const MOST_TOKENS: usize = 1 << 14;
