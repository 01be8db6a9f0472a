//go:build race

package settle

// Raced reports whether the race detector is on. It makes simulated time ten times
// as long, and allocates where the program does not.
const Raced = true
