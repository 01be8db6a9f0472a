//go:build race

package stats

// raced says that the race detector makes each simulated run ten times as long.
const raced = true
