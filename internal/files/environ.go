package files

import "os"

// environNames are the environment variables that every program gets if they are set.
var environNames = [...]string{"PATH", "HOME", "TMPDIR", "JAVA_HOME"}

// CleanEnviron returns the environment for a program that quorumbench starts, as NAME=VALUE: the
// variables that every program needs and the other named variables, if they are set. Other
// variables in the caller's environment might change what a server does.
func CleanEnviron(others ...string) []string {
	out := []string{} // nil would pass the whole environment
	for _, name := range append(environNames[:len(environNames):len(environNames)], others...) {
		if value, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}
