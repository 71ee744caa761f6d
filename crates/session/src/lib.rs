//! Sender and receiver of a game stream, and its feedback
