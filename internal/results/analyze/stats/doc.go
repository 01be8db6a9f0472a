// Package stats computes how precise numbers are. It provides intervals for figures over several
// repeats and within one run, the ratio between two groups of repeats with its judgment in one
// word, the time at which a run became steady, and the number of repeats that are needed. All
// functions are pure and work only on numbers.
//
// The unit of all statistics is the repeat. The seconds of one run are correlated and share the
// conditions of its start, such as placement, memory layout and the elected leader. So an interval
// over the seconds covers only that run (Kalibera and Jones, "Rigorous Benchmarking in Reasonable
// Time", ISMM 2013: repeat at the level that varies). The tests check by simulation how often the
// intervals contain the true value; docs/reference/statistics.md shows the results.
package stats
