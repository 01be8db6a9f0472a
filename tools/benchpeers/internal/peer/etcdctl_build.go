package peer

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// etcdctlVersion is that of the etcd server that is built in.
const etcdctlVersion = "3.7.3"

const etcdctlModule = "go.etcd.io/etcd/etcdctl/v3"

// etcdctlFiles are a module that requires etcdctl: the replacements in its own
// go.mod forbid `go install` of a version.
//
//go:embed etcdctl/*.txt
var etcdctlFiles embed.FS

// BuildEtcdctl returns the path of etcdctl in the user's cache folder, where it
// is built, the first time, with the modules that its go.sum pins. progress is
// called when that begins to take long.
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
		Tools: []store.Tool{{Name: "go", Missing: "building etcdctl needs Go 1.26 or newer"}},
		Check: store.ServerCheck{
			Module: etcdctlModule + "@v" + etcdctlVersion, Args: []string{"version"}, Says: "etcdctl version: " + etcdctlVersion,
		},
		License: "Apache License 2.0",
	}, err
}
