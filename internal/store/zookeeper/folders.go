package zookeeper

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// KeysWithPrefix implements store.Cleaner. It returns the nodes whose paths begin with the prefix,
// but not the descendants of these nodes.
func (a *admin) KeysWithPrefix(ctx context.Context, prefix []byte, limit int) (names []string, more bool, err error) {
	path := "/" + strings.TrimPrefix(string(prefix), "/")
	at := strings.LastIndexByte(path, '/')
	spelt := string(prefix[:len(prefix)-(len(path)-at-1)]) // the prefix up to its last slash
	s, err := a.openSession(ctx)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = s.endSession() }() // if this fails, the session expires
	r, err := s.request(func(c *jute.Conn) { c.GetChildren(jute.Call{}, toPath(cmp.Or(path[:at], "/")), false) })
	switch {
	case err != nil:
		return nil, false, err
	case r.Code == jute.NoNode:
		return nil, false, nil
	case r.Code != jute.OK:
		return nil, false, fmt.Errorf("ZooKeeper did not list the nodes with the prefix %q: %w", prefix, refused(r.Code))
	}
	b := jute.NewReader(r.Body)
	for range b.Count(4) {
		name := string(b.Buffer())
		switch {
		case !strings.HasPrefix(name, path[at+1:]):
		case len(names) == limit:
			return names, true, nil
		default:
			names = append(names, spelt+name)
		}
	}
	if !b.OK() {
		return nil, false, jute.ErrMalformed
	}
	return names, false, nil
}

// Folders returns a store.FolderKeeper for the parent nodes of keys. It works with every server
// that speaks ZooKeeper's protocol.
func Folders(a store.Access) store.FolderKeeper {
	return &admin{access: a, timeout: a.Timeout(), identities: map[string]identity{}}
}

// MissingFolders implements store.FolderKeeper.
func (a *admin) MissingFolders(ctx context.Context, prefix string) (missing []string, err error) {
	path := "/" + strings.TrimPrefix(prefix, "/")
	var all []string
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			all = append(all, path[:i])
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	s, err := a.openSession(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.endSession() }() // if this fails, the session expires
	for i, node := range all {
		r, err := s.request(func(c *jute.Conn) { c.Exists(jute.Call{}, toPath(node), false) })
		switch {
		case err != nil:
			return nil, err
		case r.Code == jute.NoNode:
			return all[i:], nil
		case r.Code != jute.OK:
			return nil, fmt.Errorf("cannot determine whether ZooKeeper has the node %q: %w", node, refused(r.Code))
		}
	}
	return nil, nil
}

// RemoveFolders implements store.FolderKeeper.
func (a *admin) RemoveFolders(ctx context.Context, folders []string) error {
	s, err := a.openSession(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.endSession() }() // if this fails, the session expires
	for _, node := range slices.Backward(folders) {
		r, err := s.request(func(c *jute.Conn) { c.Delete(jute.Call{}, toPath(node), jute.AnyVersion) })
		switch {
		case err != nil:
			return err
		case r.Code != jute.OK && r.Code != jute.NoNode && r.Code != jute.NotEmpty:
			return fmt.Errorf("ZooKeeper did not delete the node %q: %w", node, refused(r.Code))
		}
	}
	return nil
}
