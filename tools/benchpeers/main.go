// Command benchpeers compares quorumbench's load generator with other generators on the same
// machine: h2load, wrk, hey, closed loops that use etcd's official client and go-zookeeper,
// `etcdctl check perf`, and etcd's own benchmark if its path is given.
//
// docs/explanation/peers.md explains the method.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Exit codes. A missed goal is not a failure.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// options contains the command-line options.
type options struct {
	rounds  int
	checks  int // number of rounds of the checks that take a minute
	seconds time.Duration
	only    []string // names of cases, groups and stores; empty for all cases
	members int      // number of members in each cluster
	json    bool
	soak    bool
	dataDir string
	binary  string // path of quorumbench; if empty, quorumbench is built
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, stop, os.Args[1:]))
}

func run(ctx context.Context, stop func(), args []string) int {
	if ok, err := LoopMain(ctx, args, os.Stdout); ok {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return exitFailed
		}
		return 0
	}
	o, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "benchpeers:", err)
		return exitUsage
	}
	// A second Ctrl-C ends this program and its processes immediately.
	context.AfterFunc(ctx, stop)
	err = runComparison(ctx, o)
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "benchpeers: interrupted")
		return exitInterrupted
	case err != nil:
		fmt.Fprintln(os.Stderr, "benchpeers:", err)
		return exitFailed
	}
	return 0
}

// These are the limits of the command-line options.
const (
	maxRounds  = 100
	maxMembers = 9
	minSeconds = 1
	maxSeconds = 600
)

func parse(args []string) (options, error) {
	o := options{}
	var only string
	var seconds float64
	flags := flag.NewFlagSet("benchpeers", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 5, "number of rounds of measurements")
	flags.IntVar(&o.checks, "check-rounds", 1, "number of rounds of the checks on tmpfs, which take one minute each")
	flags.Float64Var(&seconds, "seconds", 4, "duration of each measurement in seconds; the first quarter is the warm-up")
	flags.StringVar(&only, "only", "", "measure these cases, groups or stores, separated by commas: "+strings.Join(choices(), ", "))
	flags.IntVar(&o.members, "members", 3, "number of members in each cluster")
	flags.BoolVar(&o.json, "json", false, "print one JSON object instead of tables")
	flags.BoolVar(&o.soak, "soak", false, "compare the memory after one minute with the memory after ten minutes, and measure nothing else")
	flags.StringVar(&o.dataDir, "data-dir", "", "folder for the members' data; if empty, a folder in the user's cache folder")
	flags.StringVar(&o.binary, "quorumbench", "", "path of the quorumbench binary; if empty, benchpeers builds quorumbench from this checkout")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("benchpeers accepts no arguments, but received %q; see --help", flags.Arg(0))
	case o.rounds < 1 || o.rounds > maxRounds:
		return o, fmt.Errorf("--rounds must be from 1 to %d, not %d", maxRounds, o.rounds)
	case o.checks < 1 || o.checks > maxRounds:
		return o, fmt.Errorf("--check-rounds must be from 1 to %d, not %d", maxRounds, o.checks)
	case o.members < 1 || o.members > maxMembers:
		return o, fmt.Errorf("--members must be from 1 to %d, not %d", maxMembers, o.members)
	case !(seconds >= minSeconds && seconds <= maxSeconds):
		return o, fmt.Errorf("--seconds must be from %d to %d, not %g", minSeconds, maxSeconds, seconds)
	}
	o.seconds = time.Duration(seconds * float64(time.Second))
	for name := range strings.SplitSeq(only, ",") {
		if name = strings.TrimSpace(name); name != "" {
			o.only = append(o.only, name)
		}
	}
	return o, checkNames(o.only)
}
