//go:build !race

package settle

// Raced reports whether the race detector is enabled.
const Raced = false
