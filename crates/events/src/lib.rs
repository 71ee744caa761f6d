//! Typed records of what happened, and their Arrow and Parquet tables
