package etcdv2

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

var (
	_ store.FolderKeeper = (*admin)(nil)
	_ store.Cleaner      = (*admin)(nil)
)

// KeysWithPrefix implements store.Cleaner. It returns the keys and folders that are directly in the
// prefix's folder and whose names start with the prefix.
func (a *admin) KeysWithPrefix(ctx context.Context, prefix []byte, limit int) (names []string, more bool, err error) {
	p := page{prefix: string(httpkv.TrimSlash(prefix))}
	folder := keyPath(p.prefix[:strings.LastIndexByte(p.prefix, '/')+1]) + "?recursive=true&quorum=true"
	switch err := a.tryEndpoints(httpkv.WithResponseLimit(ctx, maxList), http.MethodGet, folder, p.read); {
	case isKeyMissing(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("etcd did not list the keys with the prefix %q: %w", prefix, err)
	}
	cut := string(prefix[:len(prefix)-len(p.prefix)]) // the leading slash, which the API omits
	for i := range p.removals {
		if len(names) == limit {
			return names, true, nil
		}
		names = append(names, cut+strings.TrimPrefix(p.removals[i].name, "/"))
	}
	return names, p.full, nil
}

// folderNotEmpty is the v2 API's error code for the removal of a folder that contains keys.
const folderNotEmpty = 108

// MissingFolders implements store.FolderKeeper.
func (a *admin) MissingFolders(ctx context.Context, prefix string) ([]string, error) {
	bare := string(httpkv.TrimSlash([]byte(prefix)))
	ctx = httpkv.WithResponseLimit(ctx, maxList)
	var all []string
	for i := range len(bare) {
		if bare[i] == '/' {
			all = append(all, bare[:i])
		}
	}
	for i, folder := range all {
		switch err := a.tryEndpoints(ctx, http.MethodGet, keyPath(folder)+"?quorum=true", readNothing); {
		case isKeyMissing(err):
			return all[i:], nil
		case err != nil:
			return nil, fmt.Errorf("cannot determine whether etcd has the folder %q: %w", folder, err)
		}
	}
	return nil, nil
}

// readNothing ignores the body of a response, which can be large, because only the response's
// status matters.
func readNothing(io.Reader) error { return nil }

// RemoveFolders implements store.FolderKeeper.
func (a *admin) RemoveFolders(ctx context.Context, folders []string) error {
	for _, folder := range slices.Backward(folders) {
		err := a.tryEndpoints(ctx, http.MethodDelete, keyPath(folder)+"?dir=true", nil)
		var status *httpError
		notEmpty := errors.As(err, &status) && status.code == folderNotEmpty
		if err != nil && !isKeyMissing(err) && !notEmpty {
			return fmt.Errorf("etcd did not remove the folder %q: %w", strings.TrimSuffix(folder, "/"), err)
		}
	}
	return nil
}
