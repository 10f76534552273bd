//! Arithmetic in values: `bs=(4*1024)`, `iodepth=$ncpus*4`. Whole numbers, as in fio.

use thiserror::Error;

/// Maximum nesting of parentheses and signs; each level takes some of the stack.
const DEEPEST: u32 = 64;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ExpressionError {
    #[error("`{0}` does not belong to the expression")]
    Trailing(String),
    #[error("`{0}` is not a number")]
    NotANumber(String),
    #[error("a parenthesis is not closed")]
    Unclosed,
    #[error("more than {DEEPEST} levels of parentheses")]
    TooDeep,
    #[error("a division by zero")]
    DivisionByZero,
    #[error("the result is beyond all numbers")]
    Overflow,
}

/// The value of an expression of `+ - * / % ^`, signs and parentheses; `number` reads a number with
/// its unit.
pub(crate) fn evaluate(
    text: &str,
    number: &dyn Fn(&str) -> Option<i128>,
) -> Result<i128, ExpressionError> {
    let mut parser = Parser {
        left: text.trim(),
        number,
        depth: 0,
    };
    let value = parser.sum()?;
    match parser.left {
        "" => Ok(value),
        rest => Err(ExpressionError::Trailing(rest.to_string())),
    }
}

struct Parser<'a> {
    left: &'a str,
    number: &'a dyn Fn(&str) -> Option<i128>,
    depth: u32,
}

impl Parser<'_> {
    fn take(&mut self, signs: &[char]) -> Option<char> {
        let sign = self.left.chars().next().filter(|c| signs.contains(c))?;
        self.left = self.left[1..].trim_start();
        Some(sign)
    }

    fn sum(&mut self) -> Result<i128, ExpressionError> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let other = self.product()?;
            value = match sign {
                '+' => value.checked_add(other),
                _ => value.checked_sub(other),
            }
            .ok_or(ExpressionError::Overflow)?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<i128, ExpressionError> {
        let mut value = self.power()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let other = self.power()?;
            value = match sign {
                '*' => value.checked_mul(other).ok_or(ExpressionError::Overflow)?,
                _ if other == 0 => return Err(ExpressionError::DivisionByZero),
                '/' => value.checked_div(other).ok_or(ExpressionError::Overflow)?,
                _ => value.checked_rem(other).ok_or(ExpressionError::Overflow)?,
            };
        }
        Ok(value)
    }

    fn power(&mut self) -> Result<i128, ExpressionError> {
        let base = self.factor()?;
        if self.take(&['^']).is_none() {
            return Ok(base);
        }
        self.descend()?;
        let exponent = self.power()?;
        self.depth -= 1;
        let exponent = u32::try_from(exponent).map_err(|_| ExpressionError::Overflow)?;
        base.checked_pow(exponent).ok_or(ExpressionError::Overflow)
    }

    fn factor(&mut self) -> Result<i128, ExpressionError> {
        if let Some(sign) = self.take(&['-', '+']) {
            self.descend()?;
            let value = self.factor()?;
            self.depth -= 1;
            return match sign {
                '-' => value.checked_neg().ok_or(ExpressionError::Overflow),
                _ => Ok(value),
            };
        }
        if self.take(&['(']).is_some() {
            self.descend()?;
            let value = self.sum()?;
            self.depth -= 1;
            return match self.take(&[')']) {
                Some(_) => Ok(value),
                None => Err(ExpressionError::Unclosed),
            };
        }
        let end = self
            .left
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
        let (token, rest) = self.left.split_at(end.unwrap_or(self.left.len()));
        let value =
            (self.number)(token).ok_or_else(|| ExpressionError::NotANumber(token.to_string()))?;
        self.left = rest.trim_start();
        Ok(value)
    }

    fn descend(&mut self) -> Result<(), ExpressionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ExpressionError::TooDeep);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(token: &str) -> Option<i128> {
        token.parse().ok()
    }

    #[test]
    fn values() {
        for (text, value) in [
            ("4*1024", 4096),
            ("(2+3)*4 - 1", 19),
            ("2^3^2", 512),
            ("7/2*2", 6),
            ("7%4", 3),
            ("-(3)+5", 2),
            ("1+2*3", 7),
        ] {
            assert_eq!(evaluate(text, &whole), Ok(value), "{text}");
        }
    }

    #[test]
    fn faults() {
        use ExpressionError::{DivisionByZero, NotANumber, Overflow, TooDeep, Trailing, Unclosed};
        let deep = "(".repeat(1000);
        for (text, fault) in [
            ("", NotANumber(String::new())),
            ("1/0", DivisionByZero),
            ("1+", NotANumber(String::new())),
            ("(1", Unclosed),
            ("1)", Trailing(")".to_string())),
            ("2^200", Overflow),
            ("x", NotANumber("x".to_string())),
            ("2^-1", Overflow),
            (deep.as_str(), TooDeep),
        ] {
            assert_eq!(evaluate(text, &whole), Err(fault), "{text}");
        }
    }
}
