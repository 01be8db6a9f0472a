// Package scenarios holds the ready scenarios: the files of this folder, which are built into
// the program.
package scenarios

import (
	"embed"
	"path"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of all ready scenarios, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("scenarios: " + err.Error()) // the folder is in the program
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return names
}

// Read returns a copy of the file of the ready scenario with a name, if there is one.
func Read(name string) (file []byte, found bool) {
	file, err := files.ReadFile(name + ".yaml")
	return file, err == nil
}
