//! Functions of models, which expressions of claims may call.

use super::{KINDS, ModelError};

/// A function of a model.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Name in expressions.
    pub name: &'static str,
    /// One sentence, with the units of its arguments, and the equation.
    pub doc: &'static str,
    /// The names of its arguments.
    pub arguments: &'static [&'static str],
    /// Computes the value.
    pub call: fn(&Arguments<'_>) -> Result<Value, ModelError>,
}

/// An argument or an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A finite or infinite number, in the units of the model.
    Number(f64),
    /// A list of numbers.
    Numbers(Vec<f64>),
    /// One of the words that the function knows.
    Word(String),
}

/// Arguments of a call: as many values as the function has parameters.
pub struct Arguments<'a> {
    function: &'a Function,
    values: &'a [Value],
}

impl Arguments<'_> {
    /// The number at a position.
    pub fn number(&self, at: usize) -> Result<f64, ModelError> {
        match self.values.get(at) {
            Some(Value::Number(number)) => Ok(*number),
            _ => Err(self.wrong(at, "a number")),
        }
    }

    /// The list of numbers at a position.
    pub fn numbers(&self, at: usize) -> Result<&[f64], ModelError> {
        match self.values.get(at) {
            Some(Value::Numbers(numbers)) => Ok(numbers),
            _ => Err(self.wrong(at, "a list of numbers")),
        }
    }

    /// The word at a position.
    pub fn word(&self, at: usize) -> Result<&str, ModelError> {
        match self.values.get(at) {
            Some(Value::Word(word)) => Ok(word),
            _ => Err(self.wrong(at, "a word")),
        }
    }

    /// The answer of that name, which the word at position 0 chooses.
    pub fn pick(&self, answers: &[(&'static str, f64)]) -> Result<Value, ModelError> {
        let found = self.word(0)?;
        let known = || {
            let mut names: Vec<_> = answers.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            names.join(", ")
        };
        let answer = answers.iter().find(|(name, _)| *name == found);
        answer
            .map(|(_, value)| Value::Number(*value))
            .ok_or_else(|| ModelError::Answer { found: found.into(), known: known() })
    }

    fn wrong(&self, at: usize, takes: &'static str) -> ModelError {
        let argument = self.function.arguments.get(at).copied().unwrap_or_default();
        ModelError::Argument { function: self.function.name, argument, takes }
    }
}

/// Calls the function of that name, whichever model has it.
pub fn evaluate(name: &str, values: &[Value]) -> Result<Value, ModelError> {
    let mut functions = KINDS.iter().flat_map(|kind| kind.info.functions);
    let function =
        functions.find(|f| f.name == name).ok_or_else(|| ModelError::Function(name.to_string()))?;
    if values.len() != function.arguments.len() {
        let arguments = function.arguments.join(", ");
        return Err(ModelError::Count { function: function.name, arguments });
    }
    (function.call)(&Arguments { function, values })
}
