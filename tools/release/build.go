package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	program      = "quorumbench"
	buildPackage = "github.com/quorumbench/quorumbench/internal/cli/command" // has the variables that the linker sets
)

// build is the program for one platform.
type build struct {
	system, arch string
	binary       string // path
	size         int64
	modules      []module
	licenses     string // path of the file with the modules' licences
}

// module is a Go module that is linked into a binary.
type module struct{ path, version, sum string }

// name returns the start of the names of a platform's files, such as quorumbench_linux_amd64. The
// names have no version, so that the address of the latest release's files does not change.
func (b *build) name() string { return strings.Join([]string{program, b.system, b.arch}, "_") }

// environment returns the variables that make a build depend only on the source and the version of
// Go. GOFLAGS is set to Go's default, not to an empty value: Go ignores an empty value if GOFLAGS
// was set by `go env -w`.
func (b *build) environment() []string {
	return []string{
		"GOOS=" + b.system, "GOARCH=" + b.arch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=",
		"GOAMD64=v1", "GOARM64=v8.0", "GORISCV64=rva20u64",
	}
}

// build compiles the program for a platform, and collects the licences of its modules.
func (r *release) build(ctx context.Context, platform string) (*build, error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("the platform %q is not in the form SYSTEM/ARCHITECTURE", platform)
	}
	b := &build{system: system, arch: arch}
	b.binary = filepath.Join(r.work, system+"-"+arch, program)
	flags := []string{"-s", "-w", "-buildid="}
	for _, set := range []struct{ name, value string }{
		{"releaseVersion", r.source.version}, {"releaseRevision", r.source.commit}, {"releaseDate", r.source.date.Format(time.RFC3339)},
	} {
		flags = append(flags, "-X", buildPackage+"."+set.name+"="+set.value)
	}
	if _, err := output(ctx, r.source.dir, b.environment(), "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", strings.Join(flags, " "), "-o", b.binary, r.main); err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(b.binary)
	if err != nil {
		return nil, err
	}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		b.modules = append(b.modules, module{d.Path, d.Version, d.Sum})
	}
	stat, err := os.Stat(b.binary)
	if err != nil {
		return nil, err
	}
	b.size = stat.Size()
	return b, r.collectLicenses(ctx, b)
}

// writeManual writes man pages and completions into the temporary folder.
func writeManual(ctx context.Context, r *release) error {
	_, err := output(ctx, r.source.dir, []string{"GOFLAGS=-trimpath", "GOOS=", "GOARCH="}, "go", "run", "./tools/manual",
		"-to", r.work, "-version", r.source.version, "-date", r.source.date.Format(time.DateOnly))
	return err
}
