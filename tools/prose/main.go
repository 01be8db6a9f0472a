// Command prose reports places where the project's English is hard to understand at first reading.
//
// It checks the comments and strings in Go files, the names that Go files declare, and Markdown,
// YAML and testscript files. Not every reported place is bad English, so a baseline file contains
// the number of places that each folder may have. This number can only decrease:
//
//	go run ./tools/prose            # fails if a folder has more places than its baseline
//	go run ./tools/prose -list PATH # lists the places below PATH
//	go run ./tools/prose -update    # lowers the baseline to the present counts
//
// docs/glossary.md lists the terms to use, and CONTRIBUTING.md has the rules.
package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// baselineFile contains the number of places that each folder may have.
const baselineFile = "tools/prose/baseline.txt"

func main() {
	list := flag.Bool("list", false, "list the places below the given paths")
	update := flag.Bool("update", false, "lower the baseline to the present counts")
	flag.Parse()
	if err := run(os.Stdout, *list, *update, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, list, update bool, paths []string) error {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	places, err := findPlaces(paths)
	if err != nil {
		return err
	}
	if list {
		for _, p := range places {
			if _, err := fmt.Fprintln(out, p); err != nil {
				return err
			}
		}
		return nil
	}
	baseline, err := readBaseline(baselineFile)
	if err != nil {
		return err
	}
	if update {
		return writeBaseline(baselineFile, lowerBaseline(baseline, countByFolder(places)))
	}
	return compareWithBaseline(baseline, places)
}

// findPlaces returns the places in all checked files below the paths, sorted by file and line.
func findPlaces(paths []string) (places []place, err error) {
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && path != root && skipFolder(entry.Name()):
				return filepath.SkipDir
			case entry.IsDir() || !isCheckedFile(path):
				return nil
			}
			source, err := os.ReadFile(path) // #nosec G304 -- a developer specifies the paths
			if err != nil {
				return err
			}
			places = append(places, check(filepath.ToSlash(path), string(source))...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return places, nil
}

// skipFolder reports whether to skip a folder, because it contains no text by the project's authors
// but, for example, recorded output or builds.
func skipFolder(name string) bool {
	return slices.Contains([]string{".git", "testdata", "runs", "bin", "prose"}, name)
}

func isCheckedFile(path string) bool {
	return slices.Contains([]string{".go", ".md", ".yaml", ".yml", ".txtar"}, filepath.Ext(path))
}

// compareWithBaseline returns an error if any folder has more places than its baseline. The error
// lists all places in such folders.
func compareWithBaseline(baseline map[string]int, places []place) error {
	var lines []string
	for folder, n := range countByFolder(places) {
		if n <= baseline[folder] {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s has %d places, and its baseline is %d:", folder, n, baseline[folder]))
		for _, p := range places {
			if p.folder() == folder {
				lines = append(lines, "  "+p.String())
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("rewrite these sentences in plain English (CONTRIBUTING.md):\n%s", strings.Join(lines, "\n"))
}
