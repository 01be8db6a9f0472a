// Package program builds quorumbench for tests that run it as a process, and shows its output as a
// terminal would display it.
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

// Env is the environment variable that contains the program's path. Processes that tests start read
// it.
const Env = "QUORUMBENCH_TEST_PROGRAM"

// If raceEnv is set, the program is built with the race detector.
const raceEnv = "QUORUMBENCH_TEST_RACE"

// parallelFlag is the name of the flag of package testing that limits the number of concurrent
// tests.
const parallelFlag = "test.parallel"

// Run builds the program, runs the tests with the program first in the PATH, and returns their exit
// code. By default, it does not build the program with the race detector, which would slow down the
// load generator and take most of the tests' time. The packages that implement the program use the
// race detector in their own tests.
func Run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "quorumbench-test-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "quorumbench")
	// A test binary has no commit in its version. The program must have the same version, because
	// an agent refuses a controller with another version.
	args := []string{"build", "-buildvcs=false", "-o", path}
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
	limitParallelTests()
	return m.Run()
}

// limitParallelTests sets the maximum number of concurrent tests to the number of CPUs plus one,
// because tests mostly wait for their processes. It does nothing if a flag sets this maximum. With
// twice as many tests as CPUs, loads disturbed each other so much that their verdicts changed.
func limitParallelTests() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == parallelFlag })
	if !given {
		_ = flag.Set(parallelFlag, strconv.Itoa(1+runtime.GOMAXPROCS(0))) // the flag exists and accepts numbers
	}
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
