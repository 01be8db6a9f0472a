package scenario

import (
	"maps"
	"slices"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// trialKeys are the keys that a trial can have, without those of its mappings.
func trialKeys(parameters map[string]*Parameter) []string {
	return slices.DeleteFunc(sortedKeys(parameters), func(key string) bool { return strings.Contains(key, ".") })
}
