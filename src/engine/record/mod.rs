//! What is written down for later readers.
