//go:build !race

package verdictbench

const raced = false
