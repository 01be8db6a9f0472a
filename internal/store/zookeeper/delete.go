package zookeeper

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// deleteBatch is the maximum number of nodes that one multi deletes.
const deleteBatch = 500

// DeletePrefix implements store.Cleaner. It removes every node whose path begins with the prefix,
// and the descendants of these nodes.
func (a *admin) DeletePrefix(ctx context.Context, prefix []byte) (int64, error) {
	path := "/" + strings.TrimPrefix(string(prefix), "/")
	if path == "/" {
		return 0, errors.New("an empty prefix or / would delete every node of the ZooKeeper cluster")
	}
	s, err := a.openSession(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.endSession() }() // if this fails, the session expires
	i := strings.LastIndexByte(path, '/')
	d := deletion{s: s}
	if err = d.removeChildren(path[:i], path[i+1:], 0); err != nil {
		return d.deleted, fmt.Errorf("ZooKeeper did not delete the keys with the prefix %q: %s", prefix, reason(ctx, err))
	}
	return d.deleted, nil
}

// maxDepth limits how deep DeletePrefix descends, because a faulty server could return children
// indefinitely.
const maxDepth = 1000

// deletion removes nodes in batches, the deepest first.
type deletion struct {
	s       *adminSession
	deleted int64
}

// refused is the error for a reply with an error code.
type refused jute.Code

func (r refused) Error() string { return "the server returned " + jute.Code(r).String() }

// removeChildren removes the children of `parent` whose names begin with `prefix`, and their
// descendants. It skips ZooKeeper's own nodes.
func (d *deletion) removeChildren(parent, prefix string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nodes are nested more than %d levels deep", maxDepth)
	}
	r, err := d.s.request(func(c *jute.Conn) { c.GetChildren(jute.Call{}, toPath(cmp.Or(parent, "/")), false) })
	switch {
	case err != nil:
		return err
	case r.Code == jute.NoNode:
		return nil
	case r.Code != jute.OK:
		return refused(r.Code)
	}
	b := jute.NewReader(bytes.Clone(r.Body)) // the next response overwrites the buffer
	var batch []string
	for range b.Count(4) {
		name := string(b.Buffer())
		path := parent + "/" + name
		if !strings.HasPrefix(name, prefix) || path == "/zookeeper" {
			continue
		}
		if name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("the server returned the invalid child name %.100q", name)
		}
		if batch = append(batch, path); len(batch) == deleteBatch {
			if err := d.removeAll(batch, depth); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if !b.OK() {
		return jute.ErrMalformed
	}
	return d.removeAll(batch, depth)
}

// removeAll removes nodes with one request. If the request fails because a node has children or no
// longer exists, removeAll removes the nodes one by one.
func (d *deletion) removeAll(paths []string, depth int) error {
	if len(paths) == 0 {
		return nil
	}
	ops := make([]jute.MultiOp, len(paths))
	for i, path := range paths {
		ops[i] = jute.MultiOp{Op: jute.OpDelete, Path: toPath(path), Version: jute.AnyVersion}
	}
	r, err := d.s.request(func(c *jute.Conn) { c.Multi(jute.Call{}, ops) })
	if err != nil {
		return err
	}
	if r.Code == jute.OK && allSucceeded(r.Body) {
		d.deleted += int64(len(paths))
		return nil
	}
	for _, path := range paths {
		if err := d.removeNode(path, depth); err != nil {
			return err
		}
	}
	return nil
}

// allSucceeded reports whether all operations of a multi succeeded.
func allSucceeded(answer []byte) bool {
	b := jute.NewReader(answer)
	for result := (jute.MultiResult{}); jute.ReadMultiResults(&b, &result); {
		if result.Op == jute.OpError && result.Code != jute.OK {
			return false
		}
	}
	return b.OK()
}

// removeNode removes a node. If the node has descendants, it removes them first.
func (d *deletion) removeNode(path string, depth int) error {
	remove := func() (jute.Code, error) {
		r, err := d.s.request(func(c *jute.Conn) { c.Delete(jute.Call{}, toPath(path), jute.AnyVersion) })
		return r.Code, err
	}
	code, err := remove()
	if err == nil && code == jute.NotEmpty {
		if err := d.removeChildren(path, "", depth+1); err != nil {
			return err
		}
		code, err = remove()
	}
	switch {
	case err != nil:
		return err
	case code == jute.NoNode:
		return nil
	case code != jute.OK:
		return refused(code)
	}
	d.deleted++
	return nil
}

// toPath converts a path to the form that requests use.
func toPath(path string) jute.Path { return jute.Path{Prefix: path} }
