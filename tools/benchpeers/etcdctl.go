package main

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// NewEtcdctl returns the peer `etcdctl check perf`, with the etcdctl at the given path. If etcdctl
// is not available, err states why. This peer does not run cases with null servers. Each such case
// would take a minute, and the case with a real member already shows the effect of etcdctl's rate
// limiter.
func NewEtcdctl(binary string, err error) Peer {
	return Peer{
		Name: Etcdctl, Unavailable: err, Version: func() string { return Etcdctl + " " + etcdctlVersion },
		CanRun: func(c Case) bool { return c.Load != "" && c.Tmpfs },
		Run: func(ctx context.Context, w Work) (Figures, error) {
			return runProgram(ctx, binary, []string{"--endpoints", w.Endpoint, "check", "perf", "--load", w.Load}, true, func(text string) (Figures, error) {
				figures, err := parseEtcdctl(text, w.Rate)
				// etcdctl reports a rate, but not the number of writes.
				figures.Operations = uint64(figures.PerSecond * checkSpan.Seconds())
				if err == nil && figures.Operations == 0 {
					err = errNothingDone
				}
				return figures, err
			})
		},
	}
}

// These patterns match the lines that etcdctl prints. etcdctl writes "PASS: " before each condition
// that is met, and "FAIL: " before some of the conditions that are not met. To print the
// throughput, it truncates the rate to a whole number and adds one.
var (
	checkThroughput = regexp.MustCompile(`(?m)^(?:PASS: Throughput is|FAIL: Throughput too low:) (\d+) writes/s\s*$`)
	checkSlowest    = regexp.MustCompile(`(?m)^(?:PASS: Slowest request took|Slowest request took too long:) (\d+(?:\.\d+)?)s\s*$`)
	checkStddev     = regexp.MustCompile(`(?m)^(?:PASS: Stddev is|Stddev too high:) (\d+(?:\.\d+)?)s\s*$`)
	checkVerdict    = regexp.MustCompile(`(?m)^(PASS|FAIL)\s*$`)
)

// parseEtcdctl parses the lines of `etcdctl check perf`.
func parseEtcdctl(text string, rate float64) (Figures, error) {
	found, err := find("etcdctl printed no verdict", text, checkThroughput, checkSlowest, checkStddev, checkVerdict)
	if err != nil {
		return Figures{}, err
	}
	perSecond := number(found[0][0]) - 1
	switch {
	case perSecond <= 0:
		return Figures{}, errNothingDone
	case perSecond > 2*rate:
		return Figures{}, errors.New("etcdctl reports more than twice the rate of the requested load, so it checked another load")
	}
	return Figures{
		PerSecond: perSecond,
		Check:     &Check{Pass: found[3][0] == "PASS", Slowest: 1e9 * number(found[1][0]), Stddev: 1e9 * number(found[2][0])},
	}, nil
}

// etcdctlVersion is the version of etcdctl, and of the built-in etcd server.
const etcdctlVersion = "3.7.3"

const etcdctlModule = "go.etcd.io/etcd/etcdctl/v3"

// etcdctlFiles contains a module that requires etcdctl. benchpeers builds etcdctl from this module,
// because `go install` with a version does not work: etcdctl's own go.mod contains `replace`
// directives.
//
//go:embed etcdctl/*.txt
var etcdctlFiles embed.FS

// BuildEtcdctl returns the path of etcdctl in the user's cache folder. If etcdctl is not in the
// folder, BuildEtcdctl builds etcdctl with the module versions that go.sum pins. It calls the
// function `progress` for each step of the build.
func BuildEtcdctl(ctx context.Context, progress func(step string)) (string, error) {
	source, err := etcdctlSource()
	if err != nil {
		return "", err
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache := install.Cache{Dir: filepath.Join(dir, "quorumbench", "tools")}
	last := ""
	return cache.Ensure(ctx, source, func(u install.Update) {
		if u.Step != last {
			last = u.Step
			progress(u.Step)
		}
	})
}

func etcdctlSource() (store.ServerSource, error) {
	files, err := fs.Sub(etcdctlFiles, "etcdctl")
	return store.ServerSource{
		Store: Etcdctl, Version: etcdctlVersion, Versions: []string{etcdctlVersion}, Kind: store.GoModule,
		Files: files, Package: etcdctlModule, LDFlags: "-s -w",
		Tools: []store.Tool{{Name: "go", MissingMessage: "building etcdctl needs Go 1.26 or newer"}},
		Check: store.ServerCheck{
			Module: etcdctlModule + "@v" + etcdctlVersion, Args: []string{"version"}, ExpectedOutput: "etcdctl version: " + etcdctlVersion,
		},
		License: "Apache License 2.0",
	}, err
}
