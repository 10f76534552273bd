//! Arithmetic in values: `bs=(4*1024)`, `iodepth=$ncpus*4`. Whole numbers, as in fio.

/// More parentheses and signs than this within each other are refused: each takes some of the stack.
const DEEPEST: u32 = 64;

/// The value of an expression of `+ - * / % ^`, signs and parentheses; `number` reads a number with
/// its unit.
///
/// # Errors
/// In words.
pub(crate) fn evaluate(text: &str, number: &dyn Fn(&str) -> Option<i128>) -> Result<i128, String> {
    let mut parser = Parser {
        left: text.trim(),
        number,
        depth: 0,
    };
    let value = parser.sum()?;
    match parser.left {
        "" => Ok(value),
        rest => Err(format!("`{rest}` does not belong to the expression")),
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

    fn sum(&mut self) -> Result<i128, String> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let other = self.product()?;
            value = match sign {
                '+' => value.checked_add(other),
                _ => value.checked_sub(other),
            }
            .ok_or_else(overflow)?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<i128, String> {
        let mut value = self.power()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let other = self.power()?;
            value = match sign {
                '*' => value.checked_mul(other).ok_or_else(overflow)?,
                _ if other == 0 => return Err("a division by zero".to_string()),
                '/' => value.checked_div(other).ok_or_else(overflow)?,
                _ => value.checked_rem(other).ok_or_else(overflow)?,
            };
        }
        Ok(value)
    }

    fn power(&mut self) -> Result<i128, String> {
        let base = self.factor()?;
        if self.take(&['^']).is_none() {
            return Ok(base);
        }
        self.descend()?;
        let exponent = self.power()?;
        self.depth -= 1;
        let exponent = u32::try_from(exponent).map_err(|_| overflow())?;
        base.checked_pow(exponent).ok_or_else(overflow)
    }

    fn factor(&mut self) -> Result<i128, String> {
        if let Some(sign) = self.take(&['-', '+']) {
            self.descend()?;
            let value = self.factor()?;
            self.depth -= 1;
            return match sign {
                '-' => value.checked_neg().ok_or_else(overflow),
                _ => Ok(value),
            };
        }
        if self.take(&['(']).is_some() {
            self.descend()?;
            let value = self.sum()?;
            self.depth -= 1;
            return match self.take(&[')']) {
                Some(_) => Ok(value),
                None => Err("a parenthesis is not closed".to_string()),
            };
        }
        let end = self
            .left
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
        let (token, rest) = self.left.split_at(end.unwrap_or(self.left.len()));
        let value = (self.number)(token).ok_or_else(|| format!("`{token}` is no number"))?;
        self.left = rest.trim_start();
        Ok(value)
    }

    fn descend(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("more than {DEEPEST} levels of parentheses"));
        }
        Ok(())
    }
}

fn overflow() -> String {
    "the result is beyond all numbers".to_string()
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
        let deep = "(".repeat(1000);
        for text in [
            "",
            "1/0",
            "1+",
            "(1",
            "1)",
            "2^200",
            "x",
            "2^-1",
            deep.as_str(),
        ] {
            assert!(evaluate(text, &whole).is_err(), "{text}");
        }
    }
}
