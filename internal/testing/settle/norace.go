//go:build !race

package settle

// RaceEnabled reports whether the race detector is enabled.
const RaceEnabled = false
