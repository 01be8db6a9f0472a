// Package stats computes the precision of numbers: intervals of figures over repeats and within
// one run, ratios of two groups of repeats and the word for them, the time at which a run became
// steady, and the number of repeats needed. Its functions are pure and work on numbers only.
//
// The repeat is the unit. Seconds of one run are correlated and share the conditions of its
// start (placement, memory layout, the elected leader), so an interval over them covers that run
// only (Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013: repeat at the
// level that varies). The tests measure the guarantees of each function by simulation;
// docs/reference/statistics.md shows the rates.
package stats
