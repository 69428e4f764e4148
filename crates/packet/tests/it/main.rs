//! The integration tests of `headway-packet`, one module a subject, in one program that links once.

mod wire;
