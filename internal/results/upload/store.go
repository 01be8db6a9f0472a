package upload

import (
	"context"
	"errors"
	"io"
)

// store is an open bucket of an object store, or an open folder on this machine.
type store interface {
	// list calls the function `each` for every object in a folder, but makes at most `limit` calls.
	list(ctx context.Context, folder string, limit int, each func(key string, o object) error) error
	// reader opens an object for reading. It returns errNotExist if the object does not exist.
	reader(ctx context.Context, key string) (io.ReadCloser, error)
	// write writes an object of size bytes, either completely or not at all. If the parameter
	// `from` is an io.Seeker, write may rewind it and read it again.
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
