package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// deleteBatch is how many nodes one multi deletes.
const deleteBatch = 500

// DeletePrefix implements store.Maintainer. What is removed with a node that
// matches is everything below it.
func (a *admin) DeletePrefix(ctx context.Context, prefix []byte) (int64, error) {
	path := "/" + strings.TrimPrefix(string(prefix), "/")
	if path == "/" {
		return 0, errors.New("a prefix that is empty, or a slash, would remove every node of the ZooKeeper cluster")
	}
	c, err := a.connected(ctx)
	if err != nil {
		return 0, err
	}
	i := strings.LastIndexByte(path, '/')
	d := deletion{ctx: ctx, c: c}
	if err = d.children(path[:i], path[i+1:]); err != nil {
		return d.deleted, fmt.Errorf("ZooKeeper does not remove the keys that begin with %q: %s", prefix, reason(ctx, err))
	}
	return d.deleted, nil
}

// deletion removes nodes in batches, the lowest first.
type deletion struct {
	ctx     context.Context
	c       *zk.Conn
	deleted int64
}

// children removes the children whose names begin with a prefix. What belongs
// to ZooKeeper itself stays.
func (d *deletion) children(parent, prefix string) error {
	names, _, err := d.c.Children(orDefault(parent, "/"))
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil
	case err != nil:
		return err
	}
	var batch []string
	for _, name := range names {
		path := parent + "/" + name
		if !strings.HasPrefix(name, prefix) || path == "/zookeeper" {
			continue
		}
		if batch = append(batch, path); len(batch) == deleteBatch {
			if err := d.all(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return d.all(batch)
}

// all removes nodes: in one request, or one by one if that fails, because one
// is gone already or has children.
func (d *deletion) all(paths []string) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	if len(paths) == 0 {
		return nil
	}
	requests := make([]any, len(paths))
	for i, path := range paths {
		requests[i] = &zk.DeleteRequest{Path: path, Version: -1}
	}
	if _, err := d.c.Multi(requests...); err == nil {
		d.deleted += int64(len(paths))
		return nil
	}
	for _, path := range paths {
		if err := d.one(path); err != nil {
			return err
		}
	}
	return nil
}

// one removes a node, and before it what is below.
func (d *deletion) one(path string) error {
	err := d.c.Delete(path, -1)
	if errors.Is(err, zk.ErrNotEmpty) {
		if err := d.children(path, ""); err != nil {
			return err
		}
		err = d.c.Delete(path, -1)
	}
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil
	case err != nil:
		return err
	}
	d.deleted++
	return nil
}
