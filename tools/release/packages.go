package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// packageConfig is the configuration from which nfpm writes a deb or rpm package.
type packageConfig struct {
	Name        string            `yaml:"name"`
	Arch        string            `yaml:"arch"`
	Platform    string            `yaml:"platform"`
	Version     string            `yaml:"version"`
	Section     string            `yaml:"section"`
	Priority    string            `yaml:"priority"`
	Maintainer  string            `yaml:"maintainer"`
	Description string            `yaml:"description"`
	Homepage    string            `yaml:"homepage"`
	License     string            `yaml:"license"`
	MTime       string            `yaml:"mtime"`
	Contents    []packagedFile    `yaml:"contents"`
	RPM         map[string]string `yaml:"rpm"`
}

// packagedFile is a file or a folder in a package.
type packagedFile struct {
	Source   string   `yaml:"src,omitempty"`
	Path     string   `yaml:"dst"`
	Kind     string   `yaml:"type,omitempty"`
	Packager string   `yaml:"packager,omitempty"` // if empty, deb and rpm contain the file
	Info     fileInfo `yaml:"file_info"`
}

type fileInfo struct {
	Mode  int64  `yaml:"mode"`
	MTime string `yaml:"mtime"`
	Owner string `yaml:"owner"`
	Group string `yaml:"group"`
}

// packLinux writes a deb and an rpm for each architecture of Linux.
func (r *release) packLinux(ctx context.Context) error {
	if r.nfpm == "" {
		return nil
	}
	pages, err := r.compressPages()
	if err != nil {
		return err
	}
	for _, b := range r.builds {
		if b.system != "linux" {
			continue
		}
		config, err := yaml.Marshal(r.describePackage(b, pages))
		if err != nil {
			return err
		}
		file := filepath.Join(filepath.Dir(b.binary), "nfpm.yaml")
		if err := os.WriteFile(file, config, 0o644); err != nil {
			return err
		}
		for _, kind := range []string{"deb", "rpm"} {
			to, err := filepath.Abs(r.path(b.name() + "." + kind))
			if err != nil {
				return err
			}
			if _, err := output(ctx, r.work, []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.source.date.Unix())},
				r.nfpm, "package", "--config", file, "--packager", kind, "--target", to); err != nil {
				return err
			}
		}
	}
	return nil
}

// compressPages compresses the man pages, and returns the paths of the results.
func (r *release) compressPages() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(r.work, "man"))
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.work, "pages")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var pages []string
	for _, e := range entries {
		page, err := os.ReadFile(filepath.Join(r.work, "man", e.Name()))
		if err != nil {
			return nil, err
		}
		to := filepath.Join(dir, e.Name()+".gz")
		if err := writeCompressed(to, page); err != nil {
			return nil, err
		}
		pages = append(pages, to)
	}
	return pages, nil
}

func (r *release) describePackage(b *build, pages []string) *packageConfig {
	date := r.source.date.Format(time.RFC3339)
	p := &packageConfig{
		Name: program, Arch: b.arch, Platform: "linux", Version: r.source.version, Section: "utils", Priority: "optional",
		Maintainer: "The quorumbench authors <quorumbench@users.noreply.github.com>", Homepage: homepage, License: "Apache-2.0", MTime: date,
		Description: strings.Join([]string{summary, details}, "\n"),
		RPM:         map[string]string{"buildhost": "localhost", "group": "Applications/System"},
	}
	add := func(packager, path, source string, mode int64) {
		p.Contents = append(p.Contents, packagedFile{Source: source, Path: path, Packager: packager, Info: fileInfo{mode, date, "root", "root"}})
	}
	completions := filepath.Join(r.work, "completions")
	docs := "/usr/share/doc/" + program
	p.Contents = append(p.Contents, packagedFile{Path: docs, Kind: "dir", Info: fileInfo{0o755, date, "root", "root"}})
	add("", "/usr/bin/"+program, b.binary, 0o755)
	add("deb", docs+"/copyright", filepath.Join(r.source.dir, "LICENSE"), 0o644)
	add("rpm", docs+"/LICENSE", filepath.Join(r.source.dir, "LICENSE"), 0o644)
	add("", docs+"/README.md", filepath.Join(r.source.dir, "README.md"), 0o644)
	add("", docs+"/"+licensesName, b.licenses, 0o644)
	add("", "/usr/share/bash-completion/completions/"+program, filepath.Join(completions, program+".bash"), 0o644)
	add("", "/usr/share/fish/vendor_completions.d/"+program+".fish", filepath.Join(completions, program+".fish"), 0o644)
	add("deb", "/usr/share/zsh/vendor-completions/_"+program, filepath.Join(completions, "_"+program), 0o644)
	add("rpm", "/usr/share/zsh/site-functions/_"+program, filepath.Join(completions, "_"+program), 0o644)
	for _, page := range pages {
		add("", "/usr/share/man/man1/"+filepath.Base(page), page, 0o644)
	}
	return p
}
