//! Networks of texts: tokens, padding, batches, and what is refused.

use efface_onnx::{Attribute, Dim, Element, GraphBuilder, TextNetwork, Value, pooled};
use serde_json::json;

use crate::{assert_close, numbers};

const WIDTH: usize = 4;
const WORDS: [&str; 8] = ["[PAD]", "[UNK]", "[END]", "red", "green", "blue", "not", "very"];
const TOKENS: [Dim; 2] = [Dim::Free("batch"), Dim::Free("tokens")];

/// Words between blanks, in small letters, and `[END]` behind them.
fn tokenizer(words: &[&str], end: bool) -> Vec<u8> {
    let vocab: serde_json::Map<_, _> =
        words.iter().enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    let ending = json!({
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[END]", "type_id": 1}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"[END]": {"id": "[END]", "ids": [2], "tokens": ["[END]"]}},
    });
    let json = json!({
        "version": "1.0",
        "truncation": null,
        "padding": {"strategy": {"Fixed": 50}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
                    "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": if end { ending } else { json!(null) },
        "decoder": null,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"},
    });
    serde_json::to_vec(&json).unwrap()
}

/// Embeddings of tokens, of their kinds and of their positions.
struct Weights {
    words: Vec<f32>,
    kinds: Vec<f32>,
}

impl Weights {
    fn new() -> Self {
        Self { words: numbers(WORDS.len() * WIDTH, 1), kinds: numbers(2 * WIDTH, 2) }
    }

    /// What is made of each token: batch, tokens and width.
    fn encode(&self, graph: &mut GraphBuilder, ids: &Value, kinds: Option<&Value>) -> Value {
        let table = graph.constant("words", &[WORDS.len(), WIDTH], &self.words);
        let mut value = graph.node("Gather", &[&table, ids], &[]);
        if let Some(kinds) = kinds {
            let table = graph.constant("kinds", &[2, WIDTH], &self.kinds);
            let embedded = graph.node("Gather", &[&table, kinds], &[]);
            value = graph.node("Add", &[&value, &embedded], &[]);
        }
        graph.node("Tanh", &[&value], &[])
    }

    /// A network that gives an encoding per token.
    fn per_token(&self) -> Vec<u8> {
        let mut graph = GraphBuilder::new("network");
        let [kinds, ids, _mask] =
            ["token_type_ids", "input_ids", "attention_mask"].map(|name| graph.input(name, Element::Int, &TOKENS));
        let value = self.encode(&mut graph, &ids, Some(&kinds));
        graph.output("last", &value, Element::Float, &[TOKENS[0], TOKENS[1], Dim::Fixed(WIDTH)]);
        graph.finish().unwrap()
    }

    /// A network that takes means itself, with or without a mask, for batches of `sides`.
    fn per_text(&self, has_mask: bool, sides: [Dim; 2]) -> Vec<u8> {
        let mut graph = GraphBuilder::new("network");
        let ids = graph.input("input_ids", Element::Int, &sides);
        let mut value = self.encode(&mut graph, &ids, None);
        let axis = ("axes", Attribute::Ints(vec![1]));
        let keep = ("keepdims", Attribute::Int(0));
        value = if has_mask {
            let mask = graph.input("attention_mask", Element::Int, &sides);
            let mask = graph.node("Cast", &[&mask], &[("to", Attribute::Int(1))]);
            let (last, middle) = (graph.constant_ints("last", &[1], &[2]), graph.constant_ints("middle", &[1], &[1]));
            let mask = graph.node("Unsqueeze", &[&mask, &last], &[]);
            let masked = graph.node("Mul", &[&value, &mask], &[]);
            let [sum, n] =
                [&masked, &mask].map(|v| graph.node("ReduceSum", &[v, &middle], std::slice::from_ref(&keep)));
            graph.node("Div", &[&sum, &n], &[])
        } else {
            graph.node("ReduceMean", &[&value], &[axis, keep])
        };
        graph.output("features", &value, Element::Float, &[sides[0], Dim::Fixed(WIDTH)]);
        graph.finish().unwrap()
    }

    /// The same by plain loops.
    fn features(&self, text: &str, end: bool, has_kinds: bool, most: usize) -> Vec<f32> {
        let id = |word: &str| WORDS.iter().position(|w| *w == word).unwrap_or(1);
        let mut ids: Vec<_> = text.split_whitespace().map(|word| (id(&word.to_lowercase()), 0)).collect();
        ids.truncate(most - usize::from(end));
        ids.extend(end.then_some((2, 1)));
        let mut sums = vec![0.0; WIDTH];
        for (id, kind) in &ids {
            for (j, sum) in sums.iter_mut().enumerate() {
                let of_kind = if has_kinds { self.kinds[kind * WIDTH + j] } else { 0.0 };
                *sum += (self.words[id * WIDTH + j] + of_kind).tanh() / ids.len() as f32;
            }
        }
        sums
    }
}

/// From no word to twelve.
fn texts() -> Vec<String> {
    let word = |i: usize| ["red", "Green", "blue", "not", "VERY", "unheard"][i * i % 6];
    (0..100).map(|i| (0..i * 7 % 13).map(|k| word(i + k)).collect::<Vec<_>>().join(" ")).collect()
}

fn apply(network: &TextNetwork, texts: &[String]) -> Vec<f32> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut out = vec![f32::NAN; texts.len() * network.n_features()];
    network.apply(&texts, &mut out).unwrap();
    out
}

fn refused(file: &[u8], tokenizer: &[u8], max_tokens: usize) -> String {
    TextNetwork::open(file, tokenizer, max_tokens).err().expect("is refused").to_string()
}

#[test]
fn features_are_those_of_plain_loops_in_any_batch() {
    let weights = Weights::new();
    let fixed = [Dim::Fixed(3), Dim::Fixed(8)];
    for (file, end, has_kinds) in [
        (weights.per_token(), true, true),
        (weights.per_token(), false, true),
        (weights.per_text(true, TOKENS), true, false),
        (weights.per_text(false, TOKENS), true, false),
        (weights.per_text(false, TOKENS), false, false),
        (weights.per_text(true, fixed), true, false),
    ] {
        let network = TextNetwork::open(&file, &tokenizer(&WORDS, end), 8).unwrap();
        assert_eq!(network.n_features(), WIDTH);
        let texts = texts();
        let out = apply(&network, &texts);
        // A text without a token, not even an end, has features of zero.
        let expected: Vec<f32> = texts.iter().flat_map(|text| weights.features(text, end, has_kinds, 8)).collect();
        assert_close(&out, &expected, 1e-5);
        for (text, out) in texts.iter().zip(out.chunks(WIDTH)) {
            assert_eq!(apply(&network, std::slice::from_ref(text)), out);
        }
    }
}

#[test]
fn networks_are_used_by_many_threads() {
    let network = TextNetwork::open(&Weights::new().per_token(), &tokenizer(&WORDS, true), 8).unwrap();
    let first = apply(&network, &texts());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| apply(&network, &texts()))).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), first);
        }
    });
}

#[test]
fn a_pooled_network_gives_the_means_itself() {
    let weights = Weights::new();
    let per_token = weights.per_token();
    let [plain, whole] = [per_token.clone(), pooled(&per_token).unwrap()]
        .map(|file| apply(&TextNetwork::open(&file, &tokenizer(&WORDS, true), 8).unwrap(), &texts()));
    assert_close(&whole, &plain, 1e-6);

    let error = pooled(&weights.per_text(false, TOKENS)).unwrap_err().to_string();
    assert_eq!(error, "the network has no input `attention_mask`, so a mean over tokens cannot leave out padding");
    let error = pooled(&weights.per_text(true, TOKENS)).unwrap_err().to_string();
    assert_eq!(error, "output `features` is float [?, 4], but the input it should become is float [?, ?, 4]");
}

#[test]
fn tokens_that_the_network_does_not_know_are_refused_at_once() {
    let weights = Weights::new();
    let more: Vec<&str> = WORDS.into_iter().chain(["more"]).collect();
    let error = refused(&weights.per_token(), &tokenizer(&more, true), 8);
    assert!(error.starts_with("the tokenizer has tokens up to number 8, which the network does not take: "), "{error}");

    let side = [Dim::Free("batch"), Dim::Fixed(8)];
    let network = weights.per_text(true, side);
    assert_eq!(refused(&network, &tokenizer(&WORDS, true), 9), "the network takes 8 tokens, fewer than max tokens `9`");
    assert_eq!(
        refused(&weights.per_text(false, side), &tokenizer(&WORDS, true), 8),
        "the network takes 8 tokens and no `attention_mask`, so padding would be read as text"
    );
    let error = refused(&network, &tokenizer(&WORDS, true), 1);
    assert_eq!(error, "max tokens must be at least 2 and at most 16384, got `1`");
}

/// The positions of a network are a table of so many rows.
#[test]
fn more_tokens_than_positions_are_refused_at_once() {
    let mut graph = GraphBuilder::new("network");
    let ids = graph.input("input_ids", Element::Int, &TOKENS);
    let value = Weights::new().encode(&mut graph, &ids, None);
    let shape = graph.node("Shape", &[&ids], &[]);
    let one = graph.constant_ints("one", &[], &[1]);
    let n = graph.node("Gather", &[&shape, &one], &[]);
    let zero = graph.constant_ints("zero", &[], &[0]);
    let places = graph.node("Range", &[&zero, &n, &one], &[]);
    let table = graph.constant("positions", &[6, WIDTH], &numbers(6 * WIDTH, 4));
    let positions = graph.node("Gather", &[&table, &places], &[]);
    let value = graph.node("Add", &[&value, &positions], &[]);
    graph.output("last", &value, Element::Float, &[TOKENS[0], TOKENS[1], Dim::Fixed(WIDTH)]);
    let file = graph.finish().unwrap();
    let error = refused(&file, &tokenizer(&WORDS, true), 7);
    assert!(error.starts_with("the network does not take texts of 7 tokens: "), "{error}");
    assert!(TextNetwork::open(&file, &tokenizer(&WORDS, true), 6).is_ok());
}

#[test]
fn networks_that_do_not_take_texts_are_refused() {
    let weights = Weights::new();
    let error = refused(&weights.per_token(), b"{}", 8);
    assert!(error.starts_with("the tokenizer cannot be read: "), "{error}");

    let mut graph = GraphBuilder::new("network");
    let ids = graph.input("position_ids", Element::Int, &TOKENS);
    let value = weights.encode(&mut graph, &ids, None);
    graph.output("features", &value, Element::Float, &[TOKENS[0], TOKENS[1], Dim::Fixed(WIDTH)]);
    assert_eq!(
        refused(&graph.finish().unwrap(), &tokenizer(&WORDS, true), 8),
        "the network has an input `position_ids`; a network of texts has `input_ids`, and perhaps `attention_mask` and \
         `token_type_ids`"
    );
}

/// An embedding of one word is infinite.
#[test]
fn a_text_whose_features_are_no_numbers_is_named() {
    let mut graph = GraphBuilder::new("network");
    let ids = graph.input("input_ids", Element::Int, &TOKENS);
    let mut words = numbers(WORDS.len() * WIDTH, 1);
    words[3 * WIDTH + 1] = f32::INFINITY;
    let table = graph.constant("words", &[WORDS.len(), WIDTH], &words);
    let value = graph.node("Gather", &[&table, &ids], &[]);
    graph.output("last", &value, Element::Float, &[TOKENS[0], TOKENS[1], Dim::Fixed(WIDTH)]);
    let network = TextNetwork::open(&graph.finish().unwrap(), &tokenizer(&WORDS, true), 8).unwrap();
    let texts = ["blue not", "green", "", "green red green", "very"];
    let error = network.apply(&texts, &mut [0.0; 5 * WIDTH]).unwrap_err().to_string();
    assert_eq!(error, "the network's feature 1 is `inf`");
}
