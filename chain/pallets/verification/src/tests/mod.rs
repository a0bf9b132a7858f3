mod attacks;
mod challenges;
mod deadlines;
mod disputes;
mod params;
mod random_calls;
mod results;
mod verifiers;
