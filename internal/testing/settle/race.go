//go:build race

package settle

// Raced reports whether the race detector is on. It makes simulated time ten times as slow,
// and allocates where the program does not.
const Raced = true
