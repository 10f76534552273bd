//! Rules on trees that stand for other machines; real devices are in tests/.

use super::*;
