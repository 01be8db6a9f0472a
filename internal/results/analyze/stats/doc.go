// Package stats computes how precise numbers are. It provides confidence intervals for figures over
// several repeats and within one run. It compares two groups of repeats: it computes their ratio
// and describes the result in one word. It also determines when a run became steady, and how many
// repeats are needed. All functions are pure and work only on numbers.
//
// The unit of all statistics is the repeat. The seconds of one run are correlated. They also share
// conditions that are set at the start of the run, such as placement, memory layout and the elected
// leader. An interval over the seconds of a run is therefore valid only for that run (Kalibera and
// Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013: repeat at the level that varies).
// The tests simulate runs to measure how often the intervals contain the true value;
// docs/reference/statistics.md shows the results.
package stats
