package upload

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/encrypt"
)

// A file of up to partSize bytes is sent in one request. A larger file is sent in parts of partSize
// bytes, or in maxParts larger parts. partSize is the minimum that S3 allows, because one part of
// each file in transfer is held in memory. S3 accepts at most 10,000 parts.
const (
	partSize = 5 << 20
	maxParts = 9000
)

// attempts is the maximum number of attempts for a request.
const attempts = 3

// s3Store is a bucket of a store with the S3 interface, including Google's.
type s3Store struct {
	client        *minio.Client
	bucket        string
	singleRequest bool // send every object in one request
	encryption    encrypt.ServerSide
}

func openS3(ctx context.Context, d *Destination) (store, error) {
	at, err := d.server()
	if err != nil {
		return nil, err
	}
	transport, err := minio.DefaultTransport(at.Scheme == "https")
	if err == nil {
		err = trustBundle(transport)
	}
	if err != nil {
		return nil, err
	}
	keys, err := d.credentials(ctx, &http.Client{Transport: transport, Timeout: credentialsWithin})
	if err != nil {
		return nil, err
	}
	o := &minio.Options{
		Creds: keys, Secure: at.Scheme == "https", Transport: attemptTransport{transport}, Region: d.region(), BucketLookup: d.lookup(), MaxRetries: attempts,
		TrailingHeaders: d.scheme == schemeS3 && d.query.Get("request_checksum_calculation") != "when_required",
	}
	client, err := minio.New(at.Host, o)
	if err != nil {
		return nil, err
	}
	client.SetS3EnableDualstack(d.isSet("dualstack"))
	if d.isSet("accelerate") {
		client.SetS3TransferAccelerate("s3-accelerate.amazonaws.com")
	}
	s := &s3Store{client: client, bucket: d.bucket, singleRequest: d.scheme == schemeGS}
	s.encryption, err = d.encryption()
	return s, err
}

// attemptTransport is a transport that never reads the body of a request after it has returned the
// response. Otherwise, if a server rejected a request early, the transport could still read the
// body while the library already rewinds the same reader for the next attempt.
type attemptTransport struct{ http.RoundTripper }

func (t attemptTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return t.RoundTripper.RoundTrip(r)
	}
	body := &attemptBody{source: r.Body}
	r = r.Clone(r.Context())
	r.Body, r.GetBody = body, nil
	defer body.end()
	return t.RoundTripper.RoundTrip(r)
}

// attemptBody is the body of a request in one attempt.
type attemptBody struct {
	mu     sync.Mutex
	source io.ReadCloser
	ended  bool
}

var errAttemptEnded = errors.New("the server replied before it had read the whole request")

func (b *attemptBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return 0, errAttemptEnded
	}
	return b.source.Read(p)
}

// Close ends the attempt and closes the body. Afterwards, Read returns an error, and further calls
// of Close have no effect.
func (b *attemptBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return nil
	}
	b.ended = true
	return b.source.Close()
}

func (b *attemptBody) end() { _ = b.Close() }

// lookup returns whether URLs of the store contain the name of the bucket in the path or in the
// host name. By default, the library decides, because it knows which servers have a host name for
// each bucket.
func (d *Destination) lookup() minio.BucketLookupType {
	switch {
	case !d.query.Has("use_path_style"):
		return minio.BucketLookupAuto
	case d.isSet("use_path_style"):
		return minio.BucketLookupPath
	}
	return minio.BucketLookupDNS
}

func (d *Destination) encryption() (encrypt.ServerSide, error) {
	switch d.query.Get("ssetype") {
	case "aws:kms":
		return encrypt.NewSSEKMS(d.query.Get("kmskeyid"), nil)
	case "AES256":
		return encrypt.NewSSE(), nil
	}
	return nil, nil
}

func (s *s3Store) list(ctx context.Context, folder string, limit int, each func(string, object) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	owner := false
	o := minio.ListObjectsOptions{Prefix: folder, Recursive: true, MaxKeys: min(limit, 1000), FetchOwner: &owner}
	for of := range s.client.ListObjectsIter(ctx, s.bucket, o) {
		if of.Err != nil {
			return of.Err
		}
		// If the ETag has the form of an MD5, treat it as the MD5 of the object. The ETag of a
		// multi-part object does not have this form.
		sum, err := hex.DecodeString(of.ETag)
		if err != nil || len(sum) != 16 {
			sum = nil
		}
		if err := each(of.Key, object{size: of.Size, md5: string(sum)}); err != nil {
			return err
		}
		if limit--; limit == 0 {
			return nil
		}
	}
	return ctx.Err()
}

func (s *s3Store) reader(ctx context.Context, key string) (io.ReadCloser, error) {
	body, _, _, err := minio.Core{Client: s.client}.GetObject(ctx, s.bucket, key, minio.GetObjectOptions{})
	var said minio.ErrorResponse
	if errors.As(err, &said) && said.Code == minio.NoSuchKey {
		return nil, fmt.Errorf("%w: %w", errNotExist, err)
	}
	return body, err
}

func (s *s3Store) write(ctx context.Context, key string, source io.Reader, size int64) error {
	_, err := s.client.PutObject(ctx, s.bucket, key, source, size, minio.PutObjectOptions{
		ContentType: contentType(key), PartSize: uint64(max(partSize, size/maxParts)), DisableMultipart: s.singleRequest, ServerSideEncryption: s.encryption,
	})
	return err
}

func (s *s3Store) remove(ctx context.Context, key string) error {
	return s.client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{})
}

// Close does nothing, because idle connections time out.
func (s *s3Store) Close() error { return nil }
