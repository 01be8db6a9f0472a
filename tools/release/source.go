package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// source is the commit from which a release is built.
type source struct {
	dir     string
	version string // a tag such as v1.0.0, or v0.0.0-TIME-COMMIT if the commit has no such tag
	commit  string
	date    time.Time // of the commit, in UTC
	goTool  string    // version of Go
}

var isVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// read sets the commit, its date and its version, and the version of Go. It refuses a checkout with
// changes, because the changes are not in the commit, so a build of the commit would result in
// other files.
func (s *source) read(ctx context.Context) error {
	var err error
	if s.dir, err = filepath.Abs(s.dir); err != nil {
		return err
	}
	git := func(args ...string) string {
		out, e := output(ctx, s.dir, nil, "git", args...)
		err = errors.Join(err, e)
		return strings.TrimSpace(out)
	}
	changes := git("status", "--porcelain")
	s.commit = git("rev-parse", "HEAD")
	date := git("log", "-1", "--format=%cI")
	tags := strings.Fields(git("tag", "--points-at", "HEAD", "--sort=-version:refname"))
	goTool, e := output(ctx, s.dir, nil, "go", "env", "GOVERSION")
	err = errors.Join(err, e)
	s.goTool = strings.TrimSpace(goTool)
	switch {
	case err != nil:
		return err
	case changes != "":
		return fmt.Errorf("the checkout %s has changes that are not committed; commit or stash them, because a release must be reproducible from its commit", s.dir)
	}
	if s.date, err = time.Parse(time.RFC3339, date); err != nil {
		return err
	}
	s.date = s.date.UTC()
	s.version = fmt.Sprintf("v0.0.0-%s-%s", s.date.Format("20060102150405"), s.commit[:12])
	s.version = cmp.Or(selectVersion(tags), s.version)
	return nil
}

// selectVersion returns the first tag that is a version, or an empty string. It prefers a final
// version to a pre-release, because the last release candidate and the final version can be tags of
// the same commit.
func selectVersion(tags []string) string {
	selected := ""
	for _, tag := range tags {
		if isVersion.MatchString(tag) && (selected == "" || strings.Contains(selected, "-") && !strings.Contains(tag, "-")) {
			selected = tag
		}
	}
	return selected
}

// number returns the version without the letter v, as names of files and packages contain it.
func (s *source) number() string { return s.version[1:] }

// output runs a program and returns its standard output. If the program fails, the error contains
// the program's standard error.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	var complaints bytes.Buffer
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env, c.Stderr = dir, append(os.Environ(), env...), &complaints
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(complaints.String()))
	}
	return string(out), nil
}
