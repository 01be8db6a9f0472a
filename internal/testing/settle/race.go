//go:build race

package settle

// RaceEnabled reports whether the race detector is enabled. The detector makes simulated time take
// ten times as long, and allocates memory that the program does not allocate otherwise.
const RaceEnabled = true
