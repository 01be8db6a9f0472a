package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// countByFolder returns the number of places in each folder.
func countByFolder(places []place) map[string]int {
	counts := map[string]int{}
	for _, p := range places {
		counts[p.folder()]++
	}
	return counts
}

// lowerBaseline returns a baseline in which every count is the lower one of the baseline's count
// and the present count. It never adds folders, so new folders must not have any places. It removes
// folders without places. If the baseline is empty, lowerBaseline returns the present counts.
func lowerBaseline(baseline, counts map[string]int) map[string]int {
	if len(baseline) == 0 {
		return counts
	}
	lower := map[string]int{}
	for folder, n := range counts {
		if n = min(n, baseline[folder]); n > 0 {
			lower[folder] = n
		}
	}
	return lower
}

// readBaseline reads lines of the form "12 internal/load". If the file is missing, the baseline is
// empty.
func readBaseline(path string) (map[string]int, error) {
	text, err := os.ReadFile(path) // #nosec G304 -- a fixed path
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	baseline := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var n int
		var folder string
		if _, err := fmt.Sscanf(line, "%d %s", &n, &folder); err != nil {
			return nil, fmt.Errorf("%s:%d: %q is not a count and a folder", path, i+1, line)
		}
		baseline[folder] = n
	}
	return baseline, nil
}

func writeBaseline(path string, baseline map[string]int) error {
	var b strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(baseline)) {
		fmt.Fprintf(&b, "%d %s\n", baseline[folder], folder)
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}
