//! What an untagged or core-tagged scalar means: the core schema of YAML 1.2, and so JSON's too.
//!
//! `yes`, `no`, `on` and `off` are text. So are `.inf` and `.nan`, which JSON can't say.

use std::borrow::Cow;

use serde_json::Number;
use serde_saphyr::granit_parser::ScalarStyle;

use crate::engine::routine::file::Content;

/// Why a scalar has no meaning, for people.
pub(super) struct BadScalar(pub(super) String);

/// The meaning of a scalar.
pub(super) fn resolve(
    text: Cow<'_, str>,
    style: ScalarStyle,
    tag: Option<&str>,
) -> Result<Content, BadScalar> {
    let quoted = !matches!(style, ScalarStyle::Plain);
    match tag {
        None if quoted => Ok(Content::Text(text.into())),
        None => plain(text),
        Some("str") => Ok(Content::Text(text.into())),
        Some(tag) => {
            let content = plain(Cow::Borrowed(&*text))?;
            let fits = match (tag, &content) {
                ("null", Content::Null)
                | ("bool", Content::Bool(_))
                | ("float", Content::Number(_)) => true,
                ("int", Content::Number(number)) => !number.is_f64(),
                _ => false,
            };
            if fits {
                Ok(content)
            } else {
                Err(BadScalar(format!("`{text}` is no `!!{tag}`")))
            }
        }
    }
}

fn plain(text: Cow<'_, str>) -> Result<Content, BadScalar> {
    Ok(match &*text {
        "" | "~" | "null" | "Null" | "NULL" => Content::Null,
        "true" | "True" | "TRUE" => Content::Bool(true),
        "false" | "False" | "FALSE" => Content::Bool(false),
        word => match number(word)? {
            Some(number) => Content::Number(number),
            None => Content::Text(text.into()),
        },
    })
}

fn number(text: &str) -> Result<Option<Number>, BadScalar> {
    let digits = text.trim_start_matches(['+', '-']);
    let sign = text.len() - digits.len();
    if sign > 1 || !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Ok(None);
    }
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(rest) = text.strip_prefix(prefix) {
            let whole = rest.chars().all(|c| c.is_digit(radix)) && !rest.is_empty();
            return Ok(whole
                .then(|| u64::from_str_radix(rest, radix).ok())
                .flatten()
                .map(Number::from));
        }
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        if let Ok(whole) = digits.parse::<u64>()
            && !text.starts_with('-')
        {
            return Ok(Some(Number::from(whole)));
        }
        if let Ok(whole) = text.parse::<i64>() {
            return Ok(Some(Number::from(whole)));
        }
    } else if !is_float(digits) {
        return Ok(None);
    }
    match text.parse::<f64>().ok().and_then(Number::from_f64) {
        Some(number) => Ok(Some(number)),
        None => Err(BadScalar(format!("the number {text} is too large"))),
    }
}

/// `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && all_digits(fraction),
        Some((whole, fraction)) => all_digits(whole) && all_digits(fraction),
        None => !mantissa.is_empty() && all_digits(mantissa),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    mantissa_fits && exponent_fits
}
