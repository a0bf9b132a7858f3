fn main() {
    substrate_build_script_utils::generate_cargo_keys();
}
