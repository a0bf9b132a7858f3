//! The fuzzer: libFuzzer's main program, whose options it takes, and what `scripts/fuzz chain` needs besides.
//!
//! `--repeat FILE` runs one input, as bytes or as text, and prints what each step does. `--encode FOLDER INTO` writes the
//! inputs of a folder, which are text, as bytes; `--decode FOLDER INTO` the other way round. `--measure FOLDER...` runs all
//! inputs of folders and prints how often each action succeeded, and how long it took.

#![no_main]

use std::{
    fs,
    path::{Path, PathBuf},
    process::exit,
    time::{Duration, Instant},
};

use chain_fuzz::sequences::{explain, input, input::Step, mutations, rng::SplitMix64, run, shrinking::shrink, Tally};
use libfuzzer_sys::{fuzz_crossover, fuzz_mutator, fuzz_target};

/// How long a failing input is shortened.
const SHRINKING: Duration = Duration::from_secs(120);
/// Environment variable: the folder for failing inputs.
const FAILURES: &str = "GANTRY_FUZZ_FAILURES";

fn read(path: &Path) -> Vec<Step> {
    let bytes = fs::read(path).unwrap_or_else(|error| fail(&format!("{} cannot be read: {error}", path.display())));
    let text = std::str::from_utf8(&bytes).ok();
    match path.extension().is_some_and(|extension| extension == "txt") {
        true => match input::parse(text.unwrap_or_else(|| fail(&format!("{} is not text", path.display())))) {
            Ok(steps) => steps,
            Err(error) => fail(&format!("{}: {error}", path.display())),
        },
        false => input::decode(&bytes),
    }
}

fn fail(what: &str) -> ! {
    eprintln!("error: {what}");
    exit(2)
}

fn files(folder: &str) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder).unwrap_or_else(|error| fail(&format!("{folder} cannot be read: {error}")));
    let mut files: Vec<_> = listed.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn convert(folder: &str, into: &str, write: fn(&[Step]) -> Vec<u8>, extension: &str) {
    for path in files(folder) {
        let name = Path::new(into).join(path.file_stem().unwrap_or_default()).with_extension(extension);
        if let Err(error) = fs::write(&name, write(&read(&path))) {
            fail(&format!("{} cannot be written: {error}", name.display()));
        }
    }
}

fn measure(folders: &[String]) {
    let begin = Instant::now();
    let (mut all, mut inputs, mut failed) = (Tally::default(), 0, 0);
    for path in folders.iter().flat_map(|folder| files(folder)) {
        inputs += 1;
        if let Err(failure) = run(&read(&path), &mut all, None) {
            failed += 1;
            eprintln!("{}: step {} failed: {}", path.display(), failure.step + 1, failure.what);
        }
    }
    for (name, (tried, done)) in &all.0 {
        println!("{name:36} {tried:8} tried {done:8} succeeded");
    }
    let (tried, done) = all.calls();
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{inputs} inputs in {seconds:.1} s, {:.1} a second; {failed} failed. {tried} calls, {done} of them succeeded: {:.1} %",
        f64::from(inputs) / seconds,
        100.0 * done as f64 / tried.max(1) as f64
    );
    println!("never succeeded: {:?}", all.never());
}

/// Does what the command line asks for, unless that is for libFuzzer.
fn begin() {
    // A panic is a failure of the input, not the end of the process.
    std::panic::set_hook(Box::new(|_| {}));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--repeat", file] => {
            let steps = read(Path::new(file));
            let failed = run(&steps, &mut Tally::default(), None).is_err();
            print!("{}", explain(&steps));
            exit(failed.into())
        }
        ["--encode", folder, into] => convert(folder, into, input::encode, ""),
        ["--decode", folder, into] => convert(folder, into, |steps| input::print(steps).into_bytes(), "txt"),
        ["--measure", ..] => measure(&arguments[1..]),
        _ => return,
    }
    exit(0)
}

/// Prints a failing input, shortened, and writes it to a file; then the process ends, and libFuzzer says so.
fn report(steps: &[Step]) -> ! {
    eprintln!("An input fails; it is made shorter for up to {} s.", SHRINKING.as_secs());
    let (steps, failure) = shrink(steps, SHRINKING).unwrap_or_else(|| fail("the failure cannot be repeated"));
    let text = input::print(&steps);
    let name = format!("{:016x}.txt", u64::from_be_bytes(sp_io::hashing::twox_64(text.as_bytes())));
    let path = PathBuf::from(std::env::var(FAILURES).unwrap_or_else(|_| ".".into())).join(name);
    eprintln!("\n{}", explain(&steps));
    match fs::write(&path, format!("# {}\n{text}", failure.what)) {
        Ok(()) => eprintln!("To repeat it: scripts/fuzz chain --repeat {}", path.display()),
        Err(error) => eprintln!("{} cannot be written: {error}", path.display()),
    }
    std::process::abort()
}

fuzz_target!(init: begin(), |bytes: &[u8]| {
    let steps = input::decode(bytes);
    if let Err(failure) = run(&steps, &mut Tally::default(), None) {
        if failure.known().is_none() {
            report(&steps);
        }
    }
});

fn write_into(steps: &[Step], out: &mut [u8]) -> usize {
    let bytes = input::encode(steps);
    let size = bytes.len().min(out.len()) / input::STEP_BYTES * input::STEP_BYTES;
    out[..size].copy_from_slice(&bytes[..size]);
    size
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut steps = input::decode(&data[..size]);
    mutations::mutate(&mut steps, &mut SplitMix64(seed.into()));
    write_into(&steps, &mut data[..max_size])
});

fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
    let crossed = mutations::cross(&input::decode(one), &input::decode(other), &mut SplitMix64(seed.into()));
    write_into(&crossed, out)
});
