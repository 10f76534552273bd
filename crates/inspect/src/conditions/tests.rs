//! Conditions on trees that stand for other machines.

use super::*;
