//go:build race

package settle

// Raced reports whether the race detector is enabled. With it, simulated time takes ten times as
// long, and there are allocations that the program does not have otherwise.
const Raced = true
