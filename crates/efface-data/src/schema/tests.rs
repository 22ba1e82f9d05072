use super::*;
use crate::error::CellError;
use crate::schema::cell::Cell;
use crate::schema::encode::RowEncoder;

/// A schema of one column called `x`.
fn one(entry: &str) -> String {
    format!(
        "format = \"efface-schema-1\"\nmissing_markers = [\"?\", \"-999\"]\n[[column]]\nname = \"x\"\norigin = \"public\"\n{entry}\n"
    )
}

fn schema(entry: &str) -> Schema {
    Schema::parse(&one(entry)).expect("valid")
}

/// The features of a cell.
fn encode(entry: &str, cell: &Cell<'_>) -> Result<Vec<f64>, CellError> {
    let encoder = RowEncoder::new(&schema(entry)).expect("no network");
    let mut row = vec![0.0; encoder.feature_names.len()];
    encoder.encode(0, cell, &mut row).map(|()| row)
}

fn text(entry: &str, text: &str) -> Vec<f64> {
    encode(entry, &Cell::Text(text)).expect("encodes")
}

fn refusal(entry: &str, cell: &Cell<'_>) -> String {
    encode(entry, cell).expect_err("must be refused").to_string()
}

fn message(text: &str) -> String {
    Schema::parse(text).expect_err("must be refused").to_string()
}

#[test]
fn numbers_are_brought_to_the_range_from_minus_one_to_one() {
    let numeric = "kind = \"numeric\"\nrange = [10, 30]";
    for (cell, expected) in [("10", -1.0), ("15", -0.5), (" 20 ", 0.0), ("3e1", 1.0), ("-7", -1.0), ("1e300", 1.0)] {
        assert_eq!(text(numeric, cell), [expected], "{cell}");
    }
    for cell in [Cell::Integer(15), Cell::Number(15.0), Cell::Single(15.0)] {
        assert_eq!(encode(numeric, &cell), Ok(vec![-0.5]));
    }
    assert_eq!(refusal(numeric, &Cell::Text("abc")), "the schema declares numbers, got `abc`");
    assert_eq!(refusal(numeric, &Cell::Boolean(true)), "the schema declares numbers, got `true`");
    assert_eq!(refusal(numeric, &Cell::Text("NaN")), "numbers must be finite, got `NaN`");
    assert_eq!(refusal(numeric, &Cell::List(vec![1.0])), "a list of 1 values, which only kind `vector` can read");
}

#[test]
fn no_range_overflows() {
    let widest = ValueRange::new(-8e307, 8e307).expect("a range");
    for (x, expected) in [(f64::MIN, -1.0), (f64::MAX, 1.0), (0.0, 0.0)] {
        assert_eq!(widest.scale(x), expected);
    }
    let narrow = ValueRange::new(0.0, 5e-324).expect("a range");
    assert_eq!((narrow.scale(0.0), narrow.scale(5e-324), narrow.scale(1.0)), (-1.0, 1.0, 1.0));
    assert_eq!(ValueRange::new(-1e308, 1e308), None);
}

#[test]
fn categories_have_a_feature_each() {
    let entry = "kind = \"categorical\"\nvalues = [\"red\", 2, true]";
    assert_eq!(schema(entry).feature_names(), ["x=red", "x=2", "x=true", "x=?unknown"]);
    assert_eq!(text(entry, " red"), [1.0, 0.0, 0.0, 0.0]);
    for cell in [Cell::Text("2"), Cell::Text("2.0"), Cell::Integer(2), Cell::Number(2.0)] {
        assert_eq!(encode(entry, &cell), Ok(vec![0.0, 1.0, 0.0, 0.0]));
    }
    assert_eq!(encode(entry, &Cell::Boolean(true)), Ok(text(entry, "true")));
    for other in ["Red", "02", "2.00"] {
        assert_eq!(text(entry, other), [0.0, 0.0, 0.0, 1.0], "{other}");
    }
    let strict = format!("{entry}\nunknown = \"error\"");
    assert_eq!(schema(&strict).dim(), 3);
    let expected = "`blue` is not among the values that the schema declares: `red`, `2`, `true`";
    assert_eq!(refusal(&strict, &Cell::Text("blue")), expected);
}

/// Buckets never change: published models depend on them. The numbers come from Python's hashlib.
#[test]
fn texts_fall_into_fixed_buckets() {
    let entry = "kind = \"hashed\"\nbuckets = 1000";
    for (value, bucket) in [("00501", 385), ("zürich", 673), ("1", 861)] {
        let row = text(entry, value);
        assert_eq!((row.iter().sum::<f64>(), row.iter().position(|x| *x == 1.0)), (1.0, Some(bucket)), "{value}");
    }
    assert_eq!(encode(entry, &Cell::Integer(1)), Ok(text(entry, "1.0")));
    assert_eq!(schema(entry).feature_names()[17], "x#17");
}

#[test]
fn booleans_are_plus_or_minus_one() {
    let usual = "kind = \"boolean\"";
    for (cell, expected) in [("true", 1.0), ("True", 1.0), ("FALSE", -1.0)] {
        assert_eq!(text(usual, cell), [expected]);
    }
    let own = "kind = \"boolean\"\ntrue = [1, \"ja\"]\nfalse = [0]";
    for (cell, expected) in [(Cell::Text("ja"), 1.0), (Cell::Integer(0), -1.0), (Cell::Boolean(true), 1.0)] {
        assert_eq!(encode(own, &cell), Ok(vec![expected]));
    }
    let expected = "`true` is none of the spellings of true and false that the schema declares: `1`, `ja`, `0`";
    assert_eq!(refusal(own, &Cell::Text("true")), expected);
}

#[test]
fn vectors_are_scaled_element_by_element() {
    let entry = "kind = \"vector\"\ndim = 3\nrange = [-2, 2]";
    assert_eq!(encode(entry, &Cell::List(vec![1.0, -9.0, 0.0])), Ok(vec![0.5, -1.0, 0.0]));
    assert_eq!(schema(entry).feature_names(), ["x[0]", "x[1]", "x[2]"]);
    assert_eq!(refusal(entry, &Cell::List(vec![1.0])), "1 values in the list, expected 3");
    assert_eq!(refusal(entry, &Cell::List(vec![1.0, f64::NAN, 0.0])), "numbers must be finite, got `NaN`");
    assert!(
        refusal(entry, &Cell::Text("[1,2,3]"))
            .starts_with("the schema declares a list of numbers, as in a Parquet column, got `[1,2,3]`")
    );
}

#[test]
fn a_missing_value_is_what_the_entry_says() {
    let kinds = [
        "kind = \"numeric\"\nrange = [0, 10]",
        "kind = \"categorical\"\nvalues = [\"a\", \"b\"]",
        "kind = \"hashed\"\nbuckets = 2",
        "kind = \"boolean\"",
        "kind = \"vector\"\ndim = 2\nrange = [0, 1]",
    ];
    let missing = [
        Cell::Missing,
        Cell::Text(""),
        Cell::Text("  "),
        Cell::Text(" ? "),
        Cell::Text("-999.0"),
        Cell::Integer(-999),
        Cell::Number(-999.0),
        Cell::Number(f64::NAN),
        Cell::Single(f32::NAN),
    ];
    for kind in kinds {
        for cell in &missing {
            assert_eq!(encode(kind, cell), Err(CellError::Missing), "{kind} {cell:?}");
            let zero = encode(&format!("{kind}\nmissing = \"zero\""), cell).expect("encodes");
            assert!(zero.len() == schema(kind).dim() && zero.iter().all(|x| *x == 0.0), "{kind} {cell:?}");
            let slot = encode(&format!("{kind}\nmissing = \"slot\""), cell).expect("encodes");
            assert_eq!((slot.len(), slot.iter().sum::<f64>()), (zero.len() + 1, 1.0), "{kind} {cell:?}");
            assert_eq!(slot.last(), Some(&1.0));
        }
    }
    for (kind, value, same_as) in
        [(kinds[0], "7.5", "7.5"), (kinds[1], "\"b\"", "b"), (kinds[2], "\"b\"", "b"), (kinds[3], "false", "false")]
    {
        let entry = format!("{kind}\nmissing = {{ value = {value} }}");
        assert_eq!(text(&entry, "?"), text(kind, same_as), "{entry}");
    }
    assert_eq!(schema(&format!("{}\nmissing = \"slot\"", kinds[0])).feature_names(), ["x", "x=?missing"]);
}

#[test]
fn entries_that_contradict_themselves_are_refused() {
    let numeric = "kind = \"numeric\"\nrange = [0, 10]";
    for (entry, part) in [
        ("kind = \"number\"", "column `x`: kind must be \"derived\", \"numeric\", \"categorical\""),
        ("kind = \"numeric\"", "column `x`: kind `numeric` needs range = [low, high], two public numbers"),
        ("kind = \"numeric\"\nrange = [10, 0]", "the lower one first, got `[10, 0]`"),
        ("kind = \"numeric\"\nrange = [1, 1]", "got `[1, 1]`"),
        ("kind = \"numeric\"\nrange = [nan, 1]", "got `[NaN, 1]`"),
        ("kind = \"numeric\"\nrange = [0, inf]", "got `[0, inf]`"),
        ("kind = \"numeric\"\nrange = [0, 1, 2]", "needs range = [low, high], two public numbers"),
        ("kind = \"numeric\"\nrange = [0, 1]\nbuckets = 3", "`buckets` does not belong to kind `numeric`"),
        ("kind = \"categorical\"", "needs values"),
        ("kind = \"categorical\"\nvalues = []", "`values` must name at least one value"),
        ("kind = \"categorical\"\nvalues = [1, \"1.0\"]", "value `1` is declared twice"),
        ("kind = \"categorical\"\nvalues = [\"a\", \"?\"]", "value `?` is declared, but it counts as missing"),
        (
            "kind = \"categorical\"\nvalues = [\"a\"]\nunknown = \"drop\"",
            "unknown must be \"slot\" or \"error\", got `drop`",
        ),
        ("kind = \"categorical\"\nvalues = [\"a\", \"?unknown\"]", "two features would be called `x=?unknown`"),
        ("kind = \"hashed\"", "needs buckets"),
        ("kind = \"hashed\"\nbuckets = 0", "`buckets` must be between 1 and 100000, got `0`"),
        ("kind = \"hashed\"\nbuckets = 9223372036854775807", "must be between 1 and 100000"),
        ("kind = \"hashed\"\nbuckets = -1", "schema, line 7"),
        ("kind = \"boolean\"\ntrue = [1]", "both true = […] and false = […], or neither"),
        ("kind = \"boolean\"\ntrue = [1]\nfalse = [1]", "value `1` is declared twice"),
        ("kind = \"vector\"\nrange = [0, 1]", "needs dim"),
        ("kind = \"vector\"\nrange = [0, 1]\ndim = 100001", "`dim` must be between 1 and 100000"),
        (&format!("{numeric}\nmissing = \"skip\""), "missing must be \"error\", \"zero\", \"slot\" or { value"),
        (&format!("{numeric}\nmissing = {{ value = 11 }}"), "is no value of this column; it is outside the range"),
        (&format!("{numeric}\nmissing = {{ value = \"a\" }}"), "it is not a number"),
        (&format!("{numeric}\nmissing = {{ mean = 1 }}"), "missing must be"),
        (&format!("{numeric}\nvalue = 1"), "line 8: unknown field `value`"),
        (&format!("{numeric}\n[[column]]\nname = \"x\"\nkind = \"boolean\""), "column `x` has two entries"),
        (&format!("{numeric}\n[[column]]\nname = \"\"\nkind = \"boolean\""), "[[column]] number 2 has an empty name"),
        (
            &format!("{numeric}\n[[column]]\nname = \"y\"\nkind = \"hashed\"\nbuckets = 100000"),
            "the columns make 100001 features, at most 100000 are allowed",
        ),
    ] {
        let message = message(&one(entry));
        assert!(message.contains(part), "{entry}: {message}");
    }
    assert_eq!(message("format = \"efface-schema-1\""), "schema: a schema needs at least one [[column]]");
    let origin = one(numeric).replace("public", "mine");
    assert!(message(&origin).contains("origin must be \"public\" or \"inferred\", got `mine`"));
    let label = format!("label = \"x\"\n{}", one(numeric));
    assert!(message(&label).contains("column `x` has an entry and is the label"));
}

#[test]
fn an_entry_that_nobody_calls_public_is_not() {
    let silent = one("kind = \"boolean\"").replace("origin = \"public\"\n", "");
    assert_eq!(Schema::parse(&silent).expect("valid").not_public(), ["x"]);
    assert!(schema("kind = \"boolean\"").not_public().is_empty());
}

#[test]
fn a_value_may_be_called_like_something_fitted() {
    for entry in [
        "kind = \"categorical\"\nvalues = [\"mean\", \"standard\"]",
        "kind = \"numeric\"\nrange = [0, 1]\nmissing = \"zero\"",
    ] {
        schema(entry);
    }
    let named = one("kind = \"boolean\"").replace("\"x\"", "\"mean\"");
    assert!(Schema::parse(&named).is_ok());
}

#[test]
fn a_schema_survives_json() {
    let entry = "kind = \"boolean\"\nmissing = { value = true }\n[[column]]\nname = \"n\"\nkind = \"numeric\"\nrange = [0.1, 1e300]\nmissing = { value = 7 }\n\
                 [[column]]\nname = \"c\"\nkind = \"categorical\"\nvalues = [1, \"a\"]\nunknown = \"error\"\nmissing = { value = \"a\" }\n\
                 [[column]]\nname = \"h\"\nkind = \"hashed\"\nbuckets = 7\nmissing = \"slot\"\n\
                 [[column]]\nname = \"v\"\nkind = \"vector\"\ndim = 2\nrange = [-1, 1]\nmissing = \"zero\"";
    let schema = schema(entry);
    let json = serde_json::to_string(&schema).expect("serializable");
    assert_eq!(serde_json::from_str::<Schema>(&json).expect("readable"), schema);
    let mut broken: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    broken["column"][1]["range"] = serde_json::json!([1, 0]);
    let error = serde_json::from_value::<Schema>(broken).expect_err("must be refused").to_string();
    assert!(error.contains("range must be"), "{error}");
    assert!((schema.largest_norm() - 6f64.sqrt()).abs() < 1e-12);
}
