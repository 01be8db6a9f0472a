package store

import "os"

// environNames are the variables that any program gets, where they are set.
var environNames = [...]string{"PATH", "HOME", "TMPDIR", "JAVA_HOME"}

// EnvironNames are those of the variables that any program gets.
func EnvironNames() []string { return environNames[:] }

// CleanEnviron returns those, and the others named, as NAME=VALUE where they are set.
func CleanEnviron(others ...string) []string {
	out := []string{} // not nil, with which a program would get all
	for _, name := range append(EnvironNames()[:len(environNames):len(environNames)], others...) {
		if value, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}
