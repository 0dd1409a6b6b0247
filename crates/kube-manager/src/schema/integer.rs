//! Integers. The API server knows the formats `int32` and `int64`, and checks the range of both; it reads no integer of
//! more than 64 bits with a sign.

use serde_json::{Value, json};

use super::keys::Object;

/// Replaces a format of schemars by the bounds of the type, or by a format of Kubernetes. Bounds of the author that are
/// stricter stay.
pub fn rewrite(schema: &mut Object) {
    let format = schema.get("format").and_then(Value::as_str);
    let (minimum, maximum) = match format.unwrap_or_default() {
        "int8" => (json!(i8::MIN), Some(json!(i8::MAX))),
        "int16" => (json!(i16::MIN), Some(json!(i16::MAX))),
        "uint8" => (json!(0), Some(json!(u8::MAX))),
        "uint16" => (json!(0), Some(json!(u16::MAX))),
        "uint32" => (json!(0), Some(json!(u32::MAX))),
        "uint" | "uint64" | "uint128" => (json!(0), None),
        "int" | "int128" => {
            schema.insert("format".to_owned(), json!("int64"));
            return;
        }
        _ => return,
    };
    if number(schema.get("minimum")) < number(Some(&minimum)) {
        schema.insert("minimum".to_owned(), minimum);
    }
    let Some(maximum) = maximum else {
        schema.insert("format".to_owned(), json!("int64"));
        return;
    };
    if number(schema.get("maximum")).is_none_or(|bound| Some(bound) > number(Some(&maximum))) {
        schema.insert("maximum".to_owned(), maximum);
    }
    schema.remove("format");
}

/// The value of a bound. No bound is less than each one.
fn number(bound: Option<&Value>) -> Option<f64> {
    bound.and_then(Value::as_f64)
}

/// Whether an API server reads the number `value` as an integer, but for its fraction.
pub fn is_in_range(value: &Value) -> bool {
    const END: f64 = 9_223_372_036_854_775_808.0;
    value.is_i64()
        || value
            .as_f64()
            .is_some_and(|number| (-END..END).contains(&number))
}

/// The bound `key` of a number, which its format may say.
pub fn bound(schema: &Object, key: &str) -> Option<Value> {
    let is_int32 = schema
        .get("format")
        .is_some_and(|format| *format == "int32");
    let of_format = match key {
        "minimum" => json!(i32::MIN),
        _ => json!(i32::MAX),
    };
    let bound = schema.get(key).cloned();
    bound.or_else(|| is_int32.then_some(of_format))
}
