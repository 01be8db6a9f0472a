package store

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// ServerSource is data that says how one version of a real server gets onto this
// machine. It holds nothing of the machine: no host of a registry, no path.
type ServerSource struct {
	Store    string   // the store's name, such as zetcd
	Version  string   // this source's version, without a leading v
	Versions []string // all that the store knows, the default first
	Kind     SourceKind

	// Files are the build's inputs. Every regular file below it is written into
	// an empty folder, at the same place, with the ending .txt taken off: a
	// go.mod.txt becomes go.mod, because a folder with a go.mod in it cannot be
	// embedded. A GoModule has go.mod and go.sum (whole: the build may not
	// change them) and perhaps stub modules; a Maven source has pom.xml.
	Files fs.FS
	// Package is the package to build (GoModule).
	Package string
	// LDFlags are those of the Go linker, such as -s -w (GoModule).
	LDFlags string
	// Args are further arguments of go build or of mvn, such as
	// -Dzk.version=3.9.5.
	Args []string

	// Tools are those that building and running need.
	Tools []Tool
	// Check is how the result is known to be right.
	Check ServerCheck
	// License is a sentence about the server's license.
	License string
	// Recipe is how it is built by hand (HandBuilt), as the end of a sentence:
	// build it as such a page says.
	Recipe string
}

// SourceKind says where a server comes from.
type SourceKind uint8

// The kinds.
const (
	// GoModule is built with go build. The result is one binary, which has the
	// store's name.
	GoModule SourceKind = iota
	// Maven is the runtime dependencies of a pom. The result is a folder with
	// the jars in its subfolder lib.
	Maven
	// BuiltIn is in our own binary, in one version; see Embedded.
	BuiltIn
	// HandBuilt is in no registry. It is built as Recipe says, and its path given.
	HandBuilt
)

// Tool is a program that a server needs on this machine.
type Tool struct {
	Name string // as it is found on the PATH, such as mvn
	// Missing is the sentence where it is not, such as "ZooKeeper needs Java 11
	// or newer: install Debian's default-jre-headless".
	Missing string
	// Running says that the server needs it to run, and not only to be built.
	Running bool
}

// ServerCheck says how a built server is known to be right. The whole result is
// also hashed when it is built, and compared each time before it is used.
type ServerCheck struct {
	// Module is a module that the binary must be built from, as PATH@VERSION
	// (GoModule).
	Module string
	// Args make the binary print its version and end with status 0 (GoModule);
	// none: it is not run.
	Args []string
	// Says is a text that is in what it prints.
	Says string
	// Holds are files that must be in the result, such as
	// lib/zookeeper-3.9.5.jar (Maven).
	Holds []string
	// Sums pins files of the result by their SHA-256 in hexadecimal, where they
	// are the same everywhere, such as jars. Go modules are pinned by go.sum.
	Sums map[string]string
}

// Pick completes the source for the version that is asked for (see PickVersion):
// {version} in Args and Check stands for it, and Files are those below the folder
// server. Building a GoModule needs Go.
func (s ServerSource) Pick(asked string) (ServerSource, error) {
	v, err := PickVersion(s.Store, asked, s.Versions)
	if err != nil {
		return ServerSource{}, err
	}
	s.Version = v
	if s.Kind == GoModule {
		s.Tools = append(s.Tools, Tool{
			Name:    "go",
			Missing: fmt.Sprintf("building the server of %s needs Go 1.26 or newer: install it from https://go.dev/dl, or give the path of a binary with --exec", s.Store),
		})
	}
	for _, text := range []*string{&s.Check.Module, &s.Check.Says} {
		*text = strings.ReplaceAll(*text, "{version}", v)
	}
	for _, list := range [][]string{s.Args, s.Check.Holds} {
		for i := range list {
			list[i] = strings.ReplaceAll(list[i], "{version}", v)
		}
	}
	s.Files, err = fs.Sub(s.Files, "server")
	return s, err
}

// PickVersion returns the version of a store's server that was asked for, with
// or without a leading v, or the first of those known when none was. The error
// says which are known.
func PickVersion(name, asked string, known []string) (string, error) {
	if asked == "" && len(known) > 0 {
		return known[0], nil
	}
	if v := strings.TrimPrefix(asked, "v"); slices.Contains(known, v) {
		return v, nil
	}
	return "", fmt.Errorf("there is no version %q of %s to install; there is %s, and any other binary can be given with --exec",
		asked, name, strings.Join(known, ", "))
}

// BuiltInServer is the Store.Server of a store whose server is in our own binary,
// in one version.
func BuiltInServer(name, own, asked string) (ServerSource, error) {
	if v := strings.TrimPrefix(asked, "v"); v != "" && v != own {
		return ServerSource{}, fmt.Errorf("%s is built into quorumbench in version %s; give the path of another one with exec", name, own)
	}
	return ServerSource{Store: name, Version: own, Kind: BuiltIn}, nil
}

// HandBuiltServer is the Store.Server of a store whose server no registry has.
// recipe says how it is built.
func HandBuiltServer(name, recipe, asked string) (ServerSource, error) {
	s := ServerSource{Store: name, Kind: HandBuilt, Recipe: recipe}
	if asked != "" {
		return s, fmt.Errorf("no version of %s can be installed, because no registry has it; %sgive the path of its binary with exec", name, s.ByHand())
	}
	return s, nil
}

// Installable reports whether the server can be obtained and built here.
func (s *ServerSource) Installable() bool { return s.Kind == GoModule || s.Kind == Maven }

// ByHand is how the server is built by hand, followed by a comma and "and"; empty
// where that is not known.
func (s *ServerSource) ByHand() string {
	if s.Recipe == "" {
		return ""
	}
	return s.Recipe + ", and "
}
