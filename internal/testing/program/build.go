// Package program builds the program for tests that run it as a process, and shows what a
// terminal would display of its output.
package program

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// Env names the program to the processes of the tests.
const Env = "QUORUMBENCH_TEST_PROGRAM"

// raceEnv, when set, has the program built with the race detector.
const raceEnv = "QUORUMBENCH_TEST_RACE"

// parallel is testing's flag for how many tests run at once.
const parallel = "test.parallel"

// Run builds the program, runs the tests with it first on the PATH, and returns
// their exit code. It is built without the race detector, which would make a
// slow generator of it and takes most of the tests' time: the packages that do
// the work have it in their own tests.
func Run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "quorumbench-test-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "quorumbench")
	args := []string{"build", "-o", path}
	if os.Getenv(raceEnv) != "" {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "github.com/quorumbench/quorumbench/cmd/quorumbench")...)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return failed(fmt.Errorf("the program cannot be built: %w", err))
	}
	for name, value := range map[string]string{Env: path, "PATH": dir + string(os.PathListSeparator) + os.Getenv("PATH")} {
		if err := os.Setenv(name, value); err != nil {
			return failed(err)
		}
	}
	runOneMoreAtOnce()
	return m.Run()
}

// runOneMoreAtOnce has one test more run at once than there are processors, unless a flag
// says how many: what starts processes waits for them most of its time. With twice as many,
// loads disturbed each other so much that their verdicts were of each other.
func runOneMoreAtOnce() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == parallel })
	if !given {
		_ = flag.Set(parallel, strconv.Itoa(1+runtime.GOMAXPROCS(0))) // testing has it, and it takes numbers
	}
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
