//! Bindings to libx265, of the header that is installed: its interface is a table of functions, whose place
//! in the library and layout differ from version to version.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "x265")]
    x265();
}

#[cfg(feature = "x265")]
fn x265() {
    // Version 4 gives pictures back in another way.
    let library = pkg_config::Config::new().range_version("3.0".."4.0").probe("x265");
    let library = library.expect("libx265 of version 3 is needed (Debian: libx265-dev)");
    let includes = library.include_paths.iter().map(|path| format!("-I{}", path.display()));
    let bindings = bindgen::Builder::default()
        .header_contents("x265_interface.h", "#include <stdint.h>\n#include <x265.h>\n")
        .clang_args(includes)
        .allowlist_function("x265_api_query")
        .allowlist_type("X265_RC_METHODS")
        .allowlist_var("X265_.*")
        .generate()
        .expect("x265.h is C");
    let folder = std::env::var("OUT_DIR").expect("cargo says where");
    bindings.write_to_file(format!("{folder}/x265.rs")).expect("cargo's folder can be written");
}
