package upload

import (
	"context"
	"errors"
	"io"
)

// store is an open bucket of an object store, or an open folder.
type store interface {
	// list calls each for objects below a folder, so many at most.
	list(ctx context.Context, folder string, most int, each func(key string, o object) error) error
	// reader reads an object, or returns errNotThere.
	reader(ctx context.Context, key string) (io.ReadCloser, error)
	// write writes an object of so many bytes, all of it or nothing. It may read
	// again from the beginning where from is an io.Seeker.
	write(ctx context.Context, key string, from io.Reader, size int64) error
	remove(ctx context.Context, key string) error
	Close() error
}

// object is what a store says of what it has.
type object struct {
	size int64
	md5  string // its bytes; empty where the store does not say
}

// errNotThere is the error for an object that does not exist.
var errNotThere = errors.New("there is no such object")
