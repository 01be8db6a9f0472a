package upload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"gocloud.dev/gcerrors"

	"github.com/quorumbench/quorumbench/internal/text"
)

// explain makes one sentence of what a library says of a destination, with what to
// do about it.
func (d *Destination) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var dns *net.DNSError
	text := d.said(err)
	switch {
	case d.lacksCredentials(err, text):
		return fmt.Errorf("there are no credentials for %s: %s", d, credentials(d.scheme))
	case hasOneOf(text, "InvalidAccessKeyId", "SignatureDoesNotMatch", "AuthenticationFailed", "ExpiredToken", "InvalidToken", "invalid_grant"):
		return fmt.Errorf("%s refuses the credentials (%s); %s", d, text, credentials(d.scheme))
	case hasOneOf(text, "Missing Region", "Invalid region", "AuthorizationHeaderMalformed", "PermanentRedirect"):
		return fmt.Errorf("the region of %s is not known, or is another: set AWS_REGION, or add ?region=REGION to the URL", d)
	case d.scheme == schemeFile && errors.Is(err, fs.ErrNotExist), hasOneOf(text, "NoSuchBucket", "ContainerNotFound", "bucket does not exist"):
		return fmt.Errorf("there is no %s %s: make it, or correct the URL", d.what(), d.bucket)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("the disk of %s is full: make room and send the rest", d.bucket)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), gcerrors.Code(err) == gcerrors.PermissionDenied:
		return fmt.Errorf("no permission in %s (%s): what is sent must be listed, read, written and deleted there", d, text)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nobody listens at the address of %s (%s); is the server up, and its endpoint right", d, text)
	case errors.As(err, &dns):
		return fmt.Errorf("the server of %s is not known: there is no host %s", d, dns.Name)
	}
	return fmt.Errorf("%s: %s", d, text)
}

// lacksCredentials knows the words in which the libraries say so.
func (d *Destination) lacksCredentials(err error, text string) bool {
	var none noCredentials
	if errors.As(err, &none) {
		return true
	}
	switch d.scheme {
	case schemeS3:
		return hasOneOf(text, "failed to refresh cached credentials", "no EC2 IMDS role found", "failed to retrieve credentials")
	case schemeGS:
		return hasOneOf(text, "could not find default credentials")
	case schemeAzure:
		return hasOneOf(text, "AccountName is required", "DefaultAzureCredential")
	}
	return false
}

func hasOneOf(text string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// secrets are the variables whose values no sentence shows: a library may quote
// the request that failed.
var secrets = [...]string{
	"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN",
	"AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGEBLOB_CONNECTIONSTRING", "AZURE_CLIENT_SECRET",
}

// said is what a library says, in a line without secrets. The text of several
// errors in each other is long, and its end says what happened.
func (d *Destination) said(err error) string {
	words := strings.Join(strings.Fields(err.Error()), " ")
	for _, name := range secrets {
		if value := os.Getenv(name); len(value) > 3 {
			words = strings.ReplaceAll(words, value, "***")
		}
	}
	if at, rest, ok := strings.Cut(words, "?"); ok && strings.Contains(rest, "sig=") {
		words = at // a signature is in the query of a request
	}
	if _, rest, ok := strings.Cut(words, "StatusCode: "); ok {
		words = "status " + rest
	}
	return text.Line(words, text.OfServer)
}
