package upload

import (
	"context"
	"errors"
	"io"
)

// store is an open bucket of an object store, or an open folder on this machine.
type store interface {
	// list calls each for the objects in a folder, but for no more objects than limit.
	list(ctx context.Context, folder string, limit int, each func(key string, o object) error) error
	// reader opens an object for reading. It returns errNotExist if the object does not exist.
	reader(ctx context.Context, key string) (io.ReadCloser, error)
	// write writes an object of size bytes, either completely or not at all. If from is an
	// io.Seeker, write may rewind from and read it again.
	write(ctx context.Context, key string, from io.Reader, size int64) error
	remove(ctx context.Context, key string) error
	Close() error
}

// object holds what a store reports about an object.
type object struct {
	size int64
	md5  string // binary; empty if the store reports no MD5
}

// errNotExist is the error for an object that does not exist.
var errNotExist = errors.New("the object does not exist")
