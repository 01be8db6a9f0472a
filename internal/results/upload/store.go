package upload

import (
	"context"
	"errors"
	"io"
)

// store is an open bucket of an object store, or an open folder.
type store interface {
	// list calls each for at most that many objects below a folder.
	list(ctx context.Context, folder string, most int, each func(key string, o object) error) error
	// reader reads an object, or returns errNotThere.
	reader(ctx context.Context, key string) (io.ReadCloser, error)
	// write writes an object of size bytes, completely or not at all. It may read again
	// from the beginning if from is an io.Seeker.
	write(ctx context.Context, key string, from io.Reader, size int64) error
	remove(ctx context.Context, key string) error
	Close() error
}

// object holds what a store reports about an object.
type object struct {
	size int64
	md5  string // binary; empty if the store does not report it
}

// errNotThere is the error for an object that does not exist.
var errNotThere = errors.New("the object does not exist")
