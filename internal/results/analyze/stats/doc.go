// Package stats says how sure a number is: intervals of figures over repeats
// and within one run, ratios of two groups of repeats and the word for them,
// where a run became steady, and when enough has been repeated. Its functions
// are pure and know numbers alone.
//
// The repeat is the unit. Seconds of one run are correlated and share what the
// run was started with (placement, memory layout, the elected leader), so an
// interval over them is of that run and of no other (Kalibera and Jones,
// "Rigorous Benchmarking in Reasonable Time", ISMM 2013: repeat at the level
// that varies). What each function promises is measured by simulation in the
// tests; docs/reference/statistics.md shows the rates.
package stats
