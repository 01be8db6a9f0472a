package upload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/quorumbench/quorumbench/internal/files"
)

// maxObjects is the maximum number of objects that the store may report in the folder of a run.
const maxObjects = 2 * maxFiles

// bucket is an open destination.
type bucket struct {
	store
	onTransfer func() // called when data is transferred
}

// open opens a destination and sends it a request, so that errors are detected immediately. It
// calls the function touch when data is transferred.
func (d *Destination) open(ctx context.Context, touch func()) (*bucket, error) {
	of, err := d.openStore(ctx)
	if err != nil {
		return nil, d.explain(ctx, err)
	}
	b := &bucket{store: of, onTransfer: touch}
	if err := b.list(ctx, d.folder, 1, func(string, object) error { return nil }); err != nil {
		_ = b.Close() // nothing was written, so an error of Close does not matter
		return nil, d.explain(ctx, err)
	}
	touch()
	return b, nil
}

// objects returns the objects in a folder. The names in the result are relative to the folder.
func (b *bucket) objects(ctx context.Context, folder string) (map[string]object, error) {
	found := map[string]object{}
	err := b.list(ctx, folder, maxObjects+1, func(key string, o object) error {
		b.onTransfer()
		found[key[min(len(folder), len(key)):]] = o
		return nil
	})
	if err == nil && len(found) > maxObjects {
		err = fmt.Errorf("the store reports more than %d objects in %s, but no run contains that many; choose another folder", maxObjects, folder)
	}
	return found, err
}

// read reads a small object. It returns nil if the object does not exist.
func (b *bucket) read(ctx context.Context, key string, maxSize int64) ([]byte, error) {
	r, err := b.reader(ctx, key)
	if errors.Is(err, errNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	return files.ReadAll(r, maxSize)
}

// hasContents reports whether an object has the expected contents. If the MD5 that the store
// reports is correct, hasContents does not read the object, unless readBack is set. If the store
// reports no MD5 or a different one, hasContents reads the object and compares its SHA-256, because
// the MD5 that a store reports for an encrypted or multi-part object is not the MD5 of its
// contents.
func (b *bucket) hasContents(ctx context.Context, key string, o object, expected contentSums, readBack bool) (bool, error) {
	switch {
	case o.size != expected.size:
		return false, nil
	case !readBack && o.md5 != "" && o.md5 == expected.md5:
		return true, nil
	}
	r, err := b.reader(ctx, key)
	if errors.Is(err, errNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = r.Close() }() // it was only read
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(h, transferWriter{ctx, b.onTransfer}), io.LimitReader(r, expected.size+1))
	return err == nil && n == expected.size && hex.EncodeToString(h.Sum(nil)) == expected.sha, err
}

// transferWriter is a writer that calls onTransfer for each write. It fails when its context is
// canceled.
type transferWriter struct {
	ctx        context.Context
	onTransfer func()
}

func (t transferWriter) Write(p []byte) (int, error) {
	t.onTransfer()
	return len(p), t.ctx.Err()
}

// openStore opens the destination's store.
func (d *Destination) openStore(ctx context.Context) (store, error) {
	if d.scheme == schemeFile {
		return openFolder(d.bucket)
	}
	return openS3(ctx, d)
}
