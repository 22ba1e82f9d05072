//! What the first line of a text looks like, when a column is not found in it.

use crate::error::ReadError;

/// What the first line looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstLine {
    /// Names of columns, as it should; also where there are no lines.
    Names,
    /// A row: half of it or more are numbers.
    Row,
    /// A title above the table: one cell.
    Title,
}

impl FirstLine {
    fn of(names: &[String]) -> Self {
        let n_numbers = names.iter().filter(|name| name.parse::<f64>().is_ok()).count();
        let n_names = names.iter().filter(|name| !name.is_empty()).count();
        match (n_numbers, n_names) {
            (1.., _) if 2 * n_numbers >= n_names => Self::Row,
            (_, 0 | 1) => Self::Title,
            _ => Self::Names,
        }
    }
}

impl ReadError {
    /// The same error, of a text whose first line has these names.
    pub(super) fn in_first_line(mut self, names: &[String]) -> Self {
        if let Self::MissingColumn { first_line, .. } = &mut self {
            *first_line = FirstLine::of(names);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_titles_are_told_from_names() {
        let of = |line: &str| FirstLine::of(&line.split(',').map(String::from).collect::<Vec<_>>());
        assert_eq!(of("age,town,churned"), FirstLine::Names);
        assert_eq!(of("country,region,code,2019"), FirstLine::Names);
        assert_eq!(of("5.1,3.5,1.4,0.2,setosa"), FirstLine::Row);
        assert_eq!(of("17,0"), FirstLine::Row);
        assert_eq!(of("Customers 2024"), FirstLine::Title);
        assert_eq!(of("Customers 2024,,,"), FirstLine::Title);
    }
}
