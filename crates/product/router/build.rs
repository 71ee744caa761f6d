//! Compiles the data path for BPF. Its instruction set of version 3 is that of Linux 5.1 and later.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    let variable = |name| std::env::var(name).expect("cargo says it");
    let order = if variable("CARGO_CFG_TARGET_ENDIAN") == "big" { "bpfeb" } else { "bpfel" };
    let object = Path::new(&variable("OUT_DIR")).join("gateway.o");
    // Debian keeps <asm/types.h> apart for each architecture; its integers are the same on all.
    let headers = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let mut clang = Command::new("clang");
    clang.args(["-target", order, "-mcpu=v3", "-O2", "-Wall", "-Wextra", "-Werror", "-isystem"]);
    clang.args([&headers, "-c", "bpf/gateway.bpf.c", "-o"]).arg(object);
    let hint = "the gateway's data path is compiled by clang (Debian: clang, linux-libc-dev)";
    match clang.status() {
        Ok(status) => assert!(status.success(), "{hint}"),
        Err(error) => panic!("clang: {error}; {hint}"),
    }
}
