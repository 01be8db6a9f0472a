//go:build !race

package settle

// Raced reports whether the race detector is on.
const Raced = false
