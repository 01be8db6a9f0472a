package etcdv2

import (
	"embed"
	"io/fs"

	"github.com/quorumbench/quorumbench/internal/store"
)

// serverFiles are the inputs of the server's build.
//
//go:embed server/*.txt
var serverFiles embed.FS

// versions are those that can be installed. From 3.6 on etcd has no v2 API.
var versions = [...]string{"3.5.35"}

// Server implements store.Store.
func (*Store) Server(version string) (store.ServerSource, error) {
	v, err := store.PickVersion(Name, version, versions[:])
	if err != nil {
		return store.ServerSource{}, err
	}
	files, err := fs.Sub(serverFiles, "server")
	return store.ServerSource{
		Store: Name, Version: v, Versions: versions[:], Kind: store.GoModule,
		Files: files, Package: "go.etcd.io/etcd/server/v3", LDFlags: "-s -w",
		Tools: []store.Tool{{
			Name:    "go",
			Missing: "building etcd needs Go 1.26 or newer: install it from https://go.dev/dl, or give the path of a binary with --exec",
		}},
		Check: store.ServerCheck{
			Module: "go.etcd.io/etcd/server/v3@v" + v, Args: []string{"--version"}, Says: "etcd Version: " + v,
		},
		License: "Apache License 2.0",
	}, err
}
