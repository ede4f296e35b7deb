//! What each wire makes of an answer (M1, M3).
