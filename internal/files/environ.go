package files

import "os"

// environNames are the environment variables that CleanEnviron includes for every program, if they
// are set.
var environNames = [...]string{"PATH", "HOME", "TMPDIR", "JAVA_HOME"}

// CleanEnviron returns the environment for a program that quorumbench starts, as NAME=VALUE. The
// environment contains the variables in environNames and the variables in `others`, if they are
// set. It contains no other variables, because they might change how a server behaves.
func CleanEnviron(others ...string) []string {
	out := []string{} // with nil, the program would inherit the whole environment
	for _, name := range append(environNames[:len(environNames):len(environNames)], others...) {
		if value, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}
