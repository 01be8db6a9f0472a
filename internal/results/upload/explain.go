package upload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/minio/minio-go/v7"

	"github.com/quorumbench/quorumbench/internal/text"
)

// explain converts an error of a library to one sentence, with a remedy if possible.
func (d *Destination) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var dns *net.DNSError
	var answer minio.ErrorResponse
	_ = errors.As(err, &answer)
	text := errorText(err)
	switch {
	case errors.Is(err, errNoCredentials):
		return fmt.Errorf("no credentials were found for %s: %s%s", d, credentialsHint(d.scheme), strings.TrimPrefix(text, errNoCredentials.Error()))
	case hasOneOf(answer.Code, "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "InvalidSecurity"):
		return fmt.Errorf("%s rejected the credentials (%s); %s", d, text, credentialsHint(d.scheme))
	case hasOneOf(answer.Code, "InvalidRegion", "AuthorizationHeaderMalformed", "PermanentRedirect"):
		return fmt.Errorf("the region of %s is unknown or wrong: set AWS_REGION, or add ?region=REGION to the URL", d)
	case d.scheme == schemeFile && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder %s does not exist: create it, or correct the URL", d.bucket)
	case answer.Code == minio.NoSuchBucket:
		return fmt.Errorf("the bucket %s does not exist: create it, or correct the URL", d.bucket)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("the disk of %s is full: free some space and upload again (only the missing files are sent)", d.bucket)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), answer.StatusCode == http.StatusForbidden:
		return fmt.Errorf("no permission in %s (%s): uploads need the permissions to list, read, write and delete", d, text)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no server listens at the address of %s (%s); check that the server is running and that the endpoint is correct", d, text)
	case errors.As(err, &dns):
		return fmt.Errorf("cannot find the server of %s: the host %s does not exist; check the URL and the endpoint", d, dns.Name)
	}
	return fmt.Errorf("%s: %s", d, text)
}

func hasOneOf(text string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// secrets lists the environment variables whose values must not appear in errors. They could appear
// because a library may quote the request that failed.
var secrets = [...]string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GS_SECRET_ACCESS_KEY"}

// errorText returns the text of an error from a library or a server. The text has one line and no
// secrets.
func errorText(err error) string {
	words := err.Error()
	var answer minio.ErrorResponse
	if errors.As(err, &answer) && !strings.Contains(words, answer.Code) {
		words = answer.Code + ": " + words
	}
	words = strings.Join(strings.Fields(words), " ")
	for _, name := range secrets {
		if value := os.Getenv(name); len(value) > 3 {
			words = strings.ReplaceAll(words, value, "***")
		}
	}
	return text.Line(words, text.MaxServerText)
}
