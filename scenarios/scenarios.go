// Package scenarios contains the scenarios that are built into the program: the YAML files in this
// folder.
package scenarios

import (
	"embed"
	"path"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Names returns the sorted names of all built-in scenarios.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("scenarios: " + err.Error()) // cannot happen, because the folder is embedded in the program
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return names
}

// Read returns a copy of the file of a built-in scenario. found is false if no built-in scenario
// has this name.
func Read(name string) (file []byte, found bool) {
	file, err := files.ReadFile(name + ".yaml")
	return file, err == nil
}
