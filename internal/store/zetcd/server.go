package zetcd

import (
	"embed"
	"io/fs"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// serverFiles are the inputs of the server's build. The replaces in go.mod.txt
// matter: with newer versions of etcd's client and of gRPC zetcd spreads its
// requests over the members, answers "required revision is a future revision",
// and ends on a multi that fails.
//
//go:embed server/*.txt
var serverFiles embed.FS

// versions are those that can be installed.
var versions = [...]string{"0.0.5"}

// Server implements store.Store.
func (*Store) Server(version string) (store.ServerSource, error) {
	v, err := store.PickVersion(Name, version, versions[:])
	if err != nil {
		return store.ServerSource{}, err
	}
	files, err := fs.Sub(serverFiles, "server")
	return store.ServerSource{
		Store: Name, Version: v, Versions: versions[:], Kind: store.GoModule,
		Files: files, Package: "github.com/coreos/zetcd/cmd/zetcd", LDFlags: "-s -w",
		Tools: []store.Tool{{
			Name:    "go",
			Missing: "building zetcd needs Go 1.26 or newer: install it from https://go.dev/dl, or give the path of a binary with --exec",
		}},
		Check:   store.ServerCheck{Module: "github.com/coreos/zetcd@v" + v},
		License: "Apache License 2.0",
	}, err
}

// Launch implements store.Store: etcd's launch, with a zetcd before each member.
// Exec is zetcd's binary; etcd is the embedded one.
func (s *Store) Launch(spec store.LaunchSpec) (store.Launch, error) {
	source, err := s.Server("")
	if err != nil {
		return store.Launch{}, err
	}
	path, err := install.Executable(spec.Exec, source)
	if err != nil {
		return store.Launch{}, err
	}
	return launch(spec, path)
}
