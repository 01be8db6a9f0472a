package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licensesName is the name of the file with the licences of all modules.
const licensesName = "THIRD-PARTY-LICENSES"

// isLicense matches the names of files that have to be passed on with a module.
var isLicense = regexp.MustCompile(`(?i)^((un)?licen[cs]es?|copying|copyright|notices?|patents)([-.].*)?$`)

// listed is a package in the output of `go list`.
type listed struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// licenseText is the text of a licence, and the modules that have it.
type licenseText struct {
	text    string
	modules []string
}

// collectLicenses writes the licences of exactly the modules in a binary to one file. It reads the
// licences in the folders of the linked packages and in the parent folders, up to the root of the
// module. It returns an error if a module has no licence.
func (r *release) collectLicenses(ctx context.Context, b *build) error {
	out, err := output(ctx, r.source.dir, b.environment(), "go", "list", "-deps", "-json=Dir,Standard,Module", r.main)
	if err != nil {
		return err
	}
	root, err := output(ctx, r.source.dir, b.environment(), "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	files := map[string][]string{} // by the name of the module
	if err := addLicenses(files, "Go standard library "+r.source.goTool, strings.TrimSpace(root), strings.TrimSpace(root)); err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("the folder of Go, %s, contains no licence, but a release must contain it; use Go from https://go.dev/dl", strings.TrimSpace(root))
	}
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		if err := addLicenses(files, p.Module.Path+" "+p.Module.Version, p.Dir, p.Module.Dir); err != nil {
			return err
		}
	}
	for _, m := range b.modules {
		if len(files[m.path+" "+m.version]) == 0 {
			return fmt.Errorf("no licence was found for the module %s %s, which is linked into the binary for %s/%s; a release must contain it", m.path, m.version, b.system, b.arch)
		}
	}
	if len(files) != len(b.modules)+1 {
		return fmt.Errorf("packages of %d modules are linked into the binary for %s/%s, but its build information lists %d", len(files)-1, b.system, b.arch, len(b.modules))
	}
	b.licenses = filepath.Join(filepath.Dir(b.binary), licensesName)
	return writeLicenses(b.licenses, files)
}

// addLicenses adds the licence files in the folder `dir` and in its parent folders, up to `root`.
func addLicenses(files map[string][]string, module, dir, root string) error {
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if e.Type().IsRegular() && isLicense.MatchString(e.Name()) && !strings.HasSuffix(path, ".go") && !slices.Contains(files[module], path) {
				files[module] = append(files[module], path)
			}
		}
		if dir == root || len(dir) <= len(root) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// writeLicenses writes each different text once, after the names of the modules that have this
// text.
func writeLicenses(to string, files map[string][]string) error {
	var all []*licenseText
	for _, module := range sortedKeys(files) {
		slices.Sort(files[module])
		for _, path := range files[module] {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text := strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n"))
			i := slices.IndexFunc(all, func(l *licenseText) bool { return l.text == text })
			if i < 0 {
				i, all = len(all), append(all, &licenseText{text: text})
			}
			if !slices.Contains(all[i].modules, module) {
				all[i].modules = append(all[i].modules, module)
			}
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "The program %s contains %d modules of other authors, under the following licences.\n", program, len(files))
	for _, l := range all {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(l.modules, "\n"), strings.Repeat("=", 80), l.text)
	}
	return os.WriteFile(to, b.Bytes(), 0o644)
}
