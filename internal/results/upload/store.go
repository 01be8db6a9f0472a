package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcerrors"
)

// store is an open bucket, as its library has it.
type store interface {
	// list calls each for objects below a folder, so many at most.
	list(ctx context.Context, folder string, most int, each func(key string, o object) error) error
	// reader reads an object, or says errNotThere.
	reader(ctx context.Context, key string) (io.ReadCloser, error)
	// write writes an object of so many bytes, all of it or nothing.
	write(ctx context.Context, key string, from io.Reader, size int64) error
	remove(ctx context.Context, key string) error
	Close() error
}

// object is what a store says of what it has.
type object struct {
	size int64
	md5  string // its bytes; empty where the store does not say
}

// errNotThere is of an object that is not there.
var errNotThere = errors.New("there is no such object")

// partSize is what is sent in one request, in bytes; a larger file is sent in
// parts, of which each may be in memory. It is the least that S3 takes. A store
// takes 10,000 parts at most.
const (
	partSize  = 5 << 20
	mostParts = 9000
)

// opener opens the store that a destination names.
func (d *Destination) opener(ctx context.Context) (store, error) {
	if d.scheme == schemeGS {
		return openGS(ctx, d)
	}
	of, err := d.blobs(ctx)
	if err != nil {
		return nil, err
	}
	return &blobStore{of, d.scheme}, nil
}

func (d *Destination) blobs(ctx context.Context) (*blob.Bucket, error) {
	u := &url.URL{Scheme: d.scheme, Host: d.bucket, RawQuery: d.query.Encode()}
	switch d.scheme {
	case schemeFile:
		// Temporary files stand beside their place, since a rename cannot leave a file
		// system; a run directory is its user's alone.
		return fileblob.OpenBucket(d.bucket, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite, DirFileMode: 0o700})
	case schemeS3:
		if d.query.Has("endpoint") && !d.query.Has("use_path_style") {
			u.RawQuery += "&use_path_style=true" // the server of an endpoint has one name for all buckets
		}
		if !d.query.Has("response_checksum_validation") {
			// What is read is compared with our own SHA-256; the library would print a
			// warning for every object in parts.
			u.RawQuery += "&response_checksum_validation=when_required"
		}
		return new(s3blob.URLOpener).OpenBucketURL(ctx, u)
	case azureblob.Scheme:
		return blob.DefaultURLMux().OpenBucketURL(ctx, u) // what reads its environment has no name
	}
	return nil, fmt.Errorf("nothing opens %s", u.Scheme)
}

// blobStore is one of gocloud.dev/blob.
type blobStore struct {
	*blob.Bucket
	scheme string
}

func (s *blobStore) list(ctx context.Context, folder string, most int, each func(string, object) error) error {
	token := blob.FirstPageToken
	for len(token) > 0 && most > 0 {
		var page []*blob.ListObject
		var err error
		if page, token, err = s.ListPage(ctx, token, min(most, 1000), &blob.ListOptions{Prefix: folder}); err != nil {
			return err
		}
		for _, of := range page {
			if err := each(of.Key, object{size: of.Size, md5: string(of.MD5)}); err != nil {
				return err
			}
		}
		most -= len(page)
	}
	return nil
}

func (s *blobStore) reader(ctx context.Context, key string) (io.ReadCloser, error) {
	r, err := s.NewReader(ctx, key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, fmt.Errorf("%w: %w", errNotThere, err)
	}
	if err != nil {
		return nil, err // and not r, which is a pointer
	}
	return r, nil
}

// write gives up what was written before an error: the library's Upload would put
// half of a file into its place.
func (s *blobStore) write(ctx context.Context, key string, from io.Reader, size int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := s.NewWriter(ctx, key, s.options(key, size))
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, from); err != nil {
		cancel()
		_ = w.Close() // it only says that it was given up
		return err
	}
	return w.Close()
}

func (s *blobStore) options(key string, size int64) *blob.WriterOptions {
	o := &blob.WriterOptions{
		ContentType: contentType(key), BufferSize: int(max(partSize, size/mostParts)), MaxConcurrency: 2,
	}
	if s.scheme == schemeFile {
		o.BeforeWrite = func(as func(any) bool) error {
			var f *os.File
			if as(&f) {
				return f.Chmod(0o600)
			}
			return nil
		}
	}
	return o
}

func (s *blobStore) remove(ctx context.Context, key string) error { return s.Delete(ctx, key) }
