package files

import "os"

// environNames are the variables that every program gets if they are set.
var environNames = [...]string{"PATH", "HOME", "TMPDIR", "JAVA_HOME"}

// CleanEnviron returns the environment of a program that we start: the variables that every
// program needs and the others named, as NAME=VALUE where they are set. A variable that the
// caller happens to have set would change what a server does.
func CleanEnviron(others ...string) []string {
	out := []string{} // not nil, which would pass the whole environment
	for _, name := range append(environNames[:len(environNames):len(environNames)], others...) {
		if value, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}
