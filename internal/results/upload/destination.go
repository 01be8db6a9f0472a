package upload

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Destination is a folder for uploaded run directories, in a bucket of an object store or in a file
// system of this machine.
type Destination struct {
	OriginalURL string // the URL as the user gave it; it contains no secrets

	scheme string
	bucket string // name of the bucket; for the scheme "file", path of the folder
	folder string // path of the folder in the bucket; empty, or ends with a slash
	query  url.Values
}

// The schemes of URLs.
const (
	schemeFile = "file"
	schemeS3   = "s3"
	schemeGS   = "gs"
)

// parameters returns the names of the URL parameters that a scheme allows. No parameter is secret,
// so messages may show the URL.
func parameters(scheme string) (names []string, known bool) {
	switch scheme {
	case schemeFile:
		return nil, true
	case schemeS3:
		return []string{"endpoint", "region", "profile", "use_path_style", "disable_https", "dualstack", "fips", "accelerate",
			"ssetype", "kmskeyid", "request_checksum_calculation"}, true
	case schemeGS:
		return []string{"endpoint"}, true
	}
	return nil, false
}

// values returns the allowed values of a parameter, or nil if all values are allowed.
func values(parameter string) []string {
	switch parameter {
	case "use_path_style", "disable_https", "dualstack", "fips", "accelerate":
		return []string{"true", "false"}
	case "ssetype":
		return []string{"AES256", "aws:kms"}
	case "request_checksum_calculation":
		return []string{"when_supported", "when_required"}
	}
	return nil
}

const forms = "s3://BUCKET/FOLDER, gs://BUCKET/FOLDER or file:///FOLDER"

// Parse parses the URL of a destination. An error is one sentence, which contains no part of the
// URL that could be secret.
func Parse(text string) (*Destination, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Opaque != "" {
		return nil, errors.New("it is not the URL of a destination; use " + forms)
	}
	allowed, known := parameters(u.Scheme)
	switch {
	case !known:
		return nil, fmt.Errorf("uploads to %q are not supported; use %s", u.Scheme+"://", forms)
	case u.User != nil:
		return nil, errors.New("the URL contains a user name or a password, which others can see; credentials are read only from the environment: " + credentialsHint(u.Scheme))
	case u.Fragment != "":
		return nil, errors.New("the URL contains a #, which has no meaning here; use " + forms)
	}
	d := &Destination{OriginalURL: text, scheme: u.Scheme}
	if d.query, err = query(u, allowed); err != nil {
		return nil, err
	}
	if u.Scheme == schemeFile {
		return d, d.setFolder(u)
	}
	return d, d.setBucket(u)
}

func query(u *url.URL, allowed []string) (url.Values, error) {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("cannot parse the parameters after the ? in the URL; an example is ?region=eu-central-1")
	}
	for name, given := range q {
		switch {
		case !slices.Contains(allowed, name) && len(allowed) == 0:
			return nil, fmt.Errorf("%s URLs accept no parameters; remove the ? and the text after it", u.Scheme)
		case !slices.Contains(allowed, name):
			return nil, fmt.Errorf("%s URLs do not accept the parameter %s; the parameters are %s; credentials are read only from the environment",
				u.Scheme, text.Line(name, 40), strings.Join(allowed, ", "))
		case len(given) > 1:
			return nil, fmt.Errorf("the URL contains the parameter %s more than once; keep one", name)
		case name == "endpoint" && !isEndpoint(given[0]):
			return nil, errors.New("the endpoint must consist of http:// or https:// and a host without a path, such as ?endpoint=http://10.0.0.1:9000")
		}
		if can := values(name); can != nil && !slices.Contains(can, given[0]) {
			return nil, fmt.Errorf("the parameter %s in the URL must be %s", name, strings.Join(can, " or "))
		}
	}
	return q, nil
}

// isEndpoint reports whether a text is a valid endpoint. A URL with a user name or password is not
// valid.
func isEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.Trim(u.Path, "/") == "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// setFolder sets the folder of the destination to the path in a file URL.
func (d *Destination) setFolder(u *url.URL) error {
	if u.Host != "" && u.Host != "localhost" || !filepath.IsAbs(filepath.FromSlash(u.Path)) {
		return errors.New("a file URL needs three slashes and an absolute path, such as file:///srv/runs")
	}
	d.bucket = filepath.Clean(filepath.FromSlash(u.Path))
	if strings.ContainsRune(d.bucket, 0) {
		return errors.New("the path in the URL contains a NUL character; remove it")
	}
	return nil
}

func (d *Destination) setBucket(u *url.URL) error {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c)
	}
	if u.Host == "" || strings.TrimFunc(u.Host, plain) != "" {
		hint := ""
		if u.Scheme == schemeS3 {
			hint = "; add ?endpoint=http://HOST:PORT for a server of your own"
		}
		return fmt.Errorf("the %s:// URL contains no valid bucket name; write %s://BUCKET/FOLDER%s", u.Scheme, u.Scheme, hint)
	}
	d.bucket = u.Host
	folder := strings.Trim(u.Path, "/")
	if folder == "" {
		return nil
	}
	for part := range strings.SplitSeq(folder, "/") {
		if part == "" || part == "." || part == ".." || !text.Printable(part) {
			return errors.New("the folder in the URL contains an empty part, a part that is . or .., or a character that is not printable")
		}
	}
	d.folder = folder + "/"
	return nil
}

// String returns the destination without its URL parameters.
func (d *Destination) String() string {
	if d.scheme == schemeFile {
		return "file://" + filepath.ToSlash(d.bucket)
	}
	return strings.TrimSuffix(d.scheme+"://"+d.bucket+"/"+d.folder, "/")
}

// credentialsHint explains how to set credentials for a scheme.
func credentialsHint(scheme string) string {
	switch scheme {
	case schemeS3:
		return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
	case schemeGS:
		return "set GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY to an HMAC key of Google Cloud Storage"
	}
	return "a folder needs no credentials"
}

// server returns the address of the store's server from the URL or the environment. Otherwise, it
// returns the default address of the provider.
func (d *Destination) server() (*url.URL, error) {
	at := d.query.Get("endpoint")
	if d.scheme == schemeS3 {
		at = cmp.Or(at, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	}
	switch {
	case at != "" && !isEndpoint(at):
		return nil, errors.New("AWS_ENDPOINT_URL must consist of http:// or https:// and a host without a path")
	case at != "":
	case d.scheme == schemeGS:
		at = "https://storage.googleapis.com"
	case d.isSet("fips") && d.isSet("dualstack"):
		at = "https://s3-fips.dualstack." + d.region() + ".amazonaws.com"
	case d.isSet("fips"):
		at = "https://s3-fips." + d.region() + ".amazonaws.com"
	case d.isSet("disable_https"):
		at = "http://s3.amazonaws.com"
	default:
		at = "https://s3.amazonaws.com"
	}
	return url.Parse(at)
}

// isSet reports whether a parameter of the URL has the value "true".
func (d *Destination) isSet(parameter string) bool { return d.query.Get(parameter) == "true" }

// region returns the region from the URL or the environment. It returns "" if they contain none;
// the library then asks the server for the region of the bucket.
func (d *Destination) region() string {
	if d.scheme == schemeGS {
		return "auto"
	}
	return cmp.Or(d.query.Get("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
}
