//go:build !race

package testsettle

// Raced reports whether the race detector is on.
const Raced = false
