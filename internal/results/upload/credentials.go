package upload

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/quorumbench/quorumbench/internal/files"
)

// credentialsWithin is the time limit for a request for credentials. It is needed because the
// address of a cloud's metadata service does not respond outside of the cloud.
const credentialsWithin = 5 * time.Second

// errNoCredentials means that the environment contains no credentials.
var errNoCredentials = errors.New("the environment contains no credentials")

// credentials returns the credentials that the environment provides: keys in environment variables,
// a profile in the shared files of AWS, or the role of the machine or pod.
func (d *Destination) credentials(ctx context.Context, client *http.Client) (*credentials.Credentials, error) {
	if d.scheme == schemeGS {
		key, secret := os.Getenv("GS_ACCESS_KEY_ID"), os.Getenv("GS_SECRET_ACCESS_KEY")
		if key == "" || secret == "" {
			return nil, errNoCredentials
		}
		return credentials.NewStaticV4(key, secret, ""), nil
	}
	profile := &credentials.FileAWSCredentials{Profile: d.query.Get("profile")}
	providers := []credentials.Provider{profile}
	if profile.Profile == "" { // a profile in the URL takes precedence
		providers = []credentials.Provider{&credentials.EnvAWS{}, profile}
		if os.Getenv("AWS_EC2_METADATA_DISABLED") != "true" || hasRole() {
			providers = append(providers, &credentials.IAM{Client: client})
		}
	}
	reason := errNoCredentials
	for _, p := range providers {
		keys, err := p.RetrieveWithCredContext(&credentials.CredContext{Client: client, Context: ctx})
		switch {
		case err == nil && keys.AccessKeyID != "" && keys.SecretAccessKey != "":
			return credentials.New(p), nil
		case err != nil && p == credentials.Provider(profile) && !errors.Is(err, fs.ErrNotExist):
			reason = fmt.Errorf("%w (%w)", errNoCredentials, err) // for example, an expired token
		}
	}
	return nil, reason
}

// hasRole reports whether the environment assigns a role to the pod or container.
func hasRole() bool {
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// maxBundle is the maximum size of a file with certificates, in bytes.
const maxBundle = 8 << 20

// trustBundle makes a transport trust only the certificates in the file whose path is in the
// environment variable AWS_CA_BUNDLE.
func trustBundle(t *http.Transport) error {
	path := os.Getenv("AWS_CA_BUNDLE")
	if path == "" || t.TLSClientConfig == nil {
		return nil
	}
	b, err := files.Read(path, maxBundle)
	if err != nil {
		return fmt.Errorf("cannot read the file in AWS_CA_BUNDLE: %w", err)
	}
	t.TLSClientConfig.RootCAs = x509.NewCertPool()
	if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(b) {
		return fmt.Errorf("the file in AWS_CA_BUNDLE, %s, contains no certificate", path)
	}
	return nil
}
