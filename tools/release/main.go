// Command release builds the files of a release from a commit: binaries, archives, packages, the
// container image, manifests for package managers, and the documents that describe the contents of
// these files. The same commit and the same version of Go always result in the same bytes, in any
// folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// allPlatforms are the platforms of a release.
const allPlatforms = "linux/amd64,linux/arm64,linux/riscv64,darwin/amd64,darwin/arm64"

func main() {
	r := &release{main: "./cmd/quorumbench", writeManual: writeManual}
	platforms := ""
	flag.StringVar(&r.source.dir, "source", ".", "the checkout to build")
	flag.StringVar(&r.to, "to", "dist", "folder for the files, which must be empty or absent")
	flag.StringVar(&platforms, "platforms", allPlatforms, "platforms, as SYSTEM/ARCHITECTURE,...")
	flag.StringVar(&r.nfpm, "nfpm", "", "path of the program nfpm, which writes deb and rpm packages; if empty, none are written")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := r.run(ctx, strings.Split(platforms, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is the state of one build of a release.
type release struct {
	source source
	to     string // folder for the files of the release
	work   string // temporary folder
	main   string // package of the program
	nfpm   string // path of the program nfpm, or empty to write no packages
	builds []*build
	// writeManual writes man pages and completions into the folders man and completions of work.
	writeManual func(context.Context, *release) error
}

// run builds everything. If it fails, it leaves no partial release in the folder r.to.
func (r *release) run(ctx context.Context, platforms []string) (err error) {
	restore, err := r.createFolder()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			restore()
		}
	}()
	if r.nfpm, err = findProgram(r.nfpm); err != nil {
		return err
	}
	if err := r.source.read(ctx); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "quorumbench-release-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.work) }() // a leftover in the temporary folder is harmless
	if err := r.writeManual(ctx, r); err != nil {
		return err
	}
	for _, p := range platforms {
		b, err := r.build(ctx, p)
		if err != nil {
			return err
		}
		r.builds = append(r.builds, b)
		fmt.Printf("%s: %d modules, binary %.1f MB\n", p, len(b.modules), float64(b.size)/1e6)
	}
	steps := []func() error{
		func() error { return r.packArchives() },
		func() error { return r.packLinux(ctx) },
		func() error { return r.writeImage() },
		func() error { return r.writeSBOMs() },
		func() error { return r.writeManifests() },
		func() error { return r.writeProvenance() },
		func() error { return r.writeSums() },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return r.print()
}

// createFolder creates the folder r.to, which must be empty or absent. The function restore removes
// the folder again or, if it existed before, empties it.
func (r *release) createFolder() (restore func(), err error) {
	entries, err := os.ReadDir(r.to)
	existed := err == nil
	switch {
	case len(entries) > 0:
		return nil, fmt.Errorf("the folder %s is not empty; remove it, or name another folder with -to", r.to)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if err := os.MkdirAll(r.to, 0o755); err != nil {
		return nil, err
	}
	return func() {
		if !existed {
			_ = os.RemoveAll(r.to) // the error that stopped the release is more important
			return
		}
		entries, _ := os.ReadDir(r.to) // as above
		for _, e := range entries {
			_ = os.RemoveAll(r.path(e.Name())) // as above
		}
	}, nil
}

// findProgram returns the absolute path of the program that -nfpm names, because a relative path is
// wrong in the folder in which nfpm runs. It returns an empty string for an empty name.
func findProgram(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("-nfpm: %w; name the program nfpm, or omit -nfpm to write no packages", err)
	}
	return filepath.Abs(path)
}

// path returns the path of a file of the release.
func (r *release) path(name string) string { return filepath.Join(r.to, name) }

// print lists the files of the release with their sizes.
func (r *release) print() error {
	entries, err := os.ReadDir(r.to)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Printf("%10d  %s\n", info.Size(), e.Name())
	}
	return nil
}
