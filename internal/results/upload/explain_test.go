package upload

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/minio/minio-go/v7"
)

func TestExplanationsHaveNoSecrets(t *testing.T) {
	t.Setenv("GS_SECRET_ACCESS_KEY", "abcdefgh")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "swordfish")
	t.Setenv("AWS_SESSION_TOKEN", "")
	d := parse(t, "gs://runs/a")
	for _, err := range []error{
		errors.New("PUT https://a/runs?x=abcdefgh failed"), errors.New("no swordfish"), minio.ErrorResponse{Code: "Odd", Message: "it is\nswordfish"},
	} {
		err := d.explain(t.Context(), err)
		sentence(t, err, "gs://runs/a: ", "***")
		if strings.Contains(err.Error(), "abcdefgh") || strings.Contains(err.Error(), "swordfish") {
			t.Errorf("%s", err)
		}
	}
}

func TestExplanations(t *testing.T) {
	for _, test := range []struct {
		url  string
		err  error
		want string
	}{
		{"file:///srv", syscall.EACCES, "no permission in file:///srv"},
		{"file:///srv", syscall.EROFS, "no permission in file:///srv"},
		{"file:///srv", fmt.Errorf("x: %w", syscall.EDQUOT), "the disk of /srv is full"},
		{"gs://runs", errNoCredentials, "no credentials were found for gs://runs: set GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY"},
		{"s3://runs", fmt.Errorf("%w (%w)", errNoCredentials, errors.New("the token is expired")), "or AWS_PROFILE (the token is expired)"},
		{"gs://runs", minio.ErrorResponse{Code: "NoSuchBucket", Message: "The specified bucket does not exist."}, "the bucket runs does not exist"},
		{"s3://runs", minio.ErrorResponse{Code: "AccessDenied", StatusCode: http.StatusForbidden}, "no permission in s3://runs (AccessDenied: Access Denied"},
		{"s3://runs", minio.ErrorResponse{Code: "AuthorizationHeaderMalformed", Region: "x"}, "the region of s3://runs is unknown or wrong"},
		{"s3://runs", errors.New("a\nb"), "s3://runs: a b"},
	} {
		sentence(t, parse(t, test.url).explain(t.Context(), test.err), test.want)
	}
}
