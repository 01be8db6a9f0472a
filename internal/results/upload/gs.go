package upload

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"golang.org/x/oauth2/google"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"
)

// gsStore is a bucket of Google Cloud Storage, over its JSON API (see
// docs/decisions/0010-google-cloud-storage-without-its-client.md).
type gsStore struct {
	objects *storage.ObjectsService
	bucket  string
}

func openGS(ctx context.Context, d *Destination) (store, error) {
	s, err := storage.NewService(ctx, d.gsOptions(ctx)...)
	if err != nil {
		return nil, err
	}
	return &gsStore{objects: s.Objects, bucket: d.bucket}, nil
}

// gsOptions say where it is, and with which credentials: the environment's.
func (d *Destination) gsOptions(ctx context.Context) []option.ClientOption {
	if host := os.Getenv("STORAGE_EMULATOR_HOST"); host != "" {
		if !strings.Contains(host, "://") {
			host = "http://" + host
		}
		return []option.ClientOption{option.WithoutAuthentication(), option.WithEndpoint(host + "/storage/v1/")}
	}
	o := []option.ClientOption{option.WithScopes(storage.DevstorageReadWriteScope)}
	if domain := d.query.Get("universe_domain"); domain != "" {
		o = append(o, option.WithUniverseDomain(domain))
	}
	return o
}

// hasGSCredentials says why there are none.
func hasGSCredentials(ctx context.Context) error {
	if os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return nil
	}
	if _, err := google.FindDefaultCredentials(ctx, storage.DevstorageReadWriteScope); err != nil {
		return noCredentials{err}
	}
	return nil
}

// noCredentials is why there are none.
type noCredentials struct{ error }

func (s *gsStore) list(ctx context.Context, folder string, most int, each func(key string, o object) error) error {
	call := s.objects.List(s.bucket).Prefix(folder).MaxResults(int64(min(most, 1000))).Fields("nextPageToken", "items(name,size,md5Hash)")
	for {
		page, err := call.Context(ctx).Do()
		if err != nil {
			return err
		}
		for _, of := range page.Items {
			sum, _ := base64.StdEncoding.DecodeString(of.Md5Hash) // none for composed objects
			if err := each(of.Name, object{size: int64(of.Size), md5: string(sum)}); err != nil {
				return err
			}
			if most--; most == 0 {
				return nil
			}
		}
		if page.NextPageToken == "" {
			return nil
		}
		call = call.PageToken(page.NextPageToken)
	}
}

func (s *gsStore) reader(ctx context.Context, key string) (io.ReadCloser, error) {
	answer, err := s.objects.Get(s.bucket, key).Context(ctx).Download()
	var said *googleapi.Error
	if errors.As(err, &said) && said.Code == http.StatusNotFound {
		return nil, fmt.Errorf("%w: %w", errNotThere, err)
	}
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

func (s *gsStore) write(ctx context.Context, key string, from io.Reader, size int64) error {
	_, err := s.objects.Insert(s.bucket, &storage.Object{Name: key, ContentType: contentType(key)}).
		Media(from, googleapi.ChunkSize(partSize), googleapi.ContentType(contentType(key))).Context(ctx).Do()
	return err
}

func (s *gsStore) remove(ctx context.Context, key string) error {
	return s.objects.Delete(s.bucket, key).Context(ctx).Do()
}

func (s *gsStore) Close() error { return nil }
