package metrics

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// TokenVariable is the name of the environment variable that contains the bearer token for pushes.
const TokenVariable = "QUORUMBENCH_PUSH_TOKEN" // #nosec G101 -- a name, not a token

// fromEnv is the prefix of a reference to a password in an environment variable.
const fromEnv = "env:"

// Destination is a URL to which a Pusher sends metrics. It contains no secrets, but it can contain
// the name of an environment variable with a password.
type Destination struct {
	url            string // without user information
	user, variable string // the user, and the environment variable with the password; both may be empty
}

// ParseDestination parses the value of --push. The user information of the URL has the form
// NAME:env:VARIABLE. The returned error contains no password.
func ParseDestination(s string) (*Destination, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		var wrong *url.Error
		if errors.As(err, &wrong) { // its text contains the whole URL
			err = wrong.Err
		}
		if strings.Contains(s, "@") {
			return nil, errors.New("the URL is invalid; write http://HOST:PORT/api/v1/write or http://NAME:env:VARIABLE@HOST:PORT/api/v1/write")
		}
		return nil, fmt.Errorf("%q is not a URL (%w); write http://HOST:PORT/api/v1/write", s, err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("%s does not begin with http:// or https://, or contains no host; write http://HOST:PORT/api/v1/write", shown(s))
	case u.Fragment != "":
		return nil, fmt.Errorf("%s contains a fragment (the part after #), which is never sent; remove the fragment", shown(s))
	}
	d := &Destination{}
	if u.User != nil {
		password, _ := u.User.Password()
		variable, found := strings.CutPrefix(password, fromEnv)
		if !found || variable == "" || u.User.Username() == "" {
			return nil, errors.New("the URL contains a password, which every user of this machine could read, or a user name without a password variable; write http://NAME:env:VARIABLE@HOST:PORT/..., and set VARIABLE to the password")
		}
		d.user, d.variable = u.User.Username(), variable
		u.User = nil
	}
	d.url = u.String()
	return d, nil
}

// shown returns a URL in quotation marks, or the words "the URL" if the URL may contain a password.
func shown(s string) string {
	if strings.Contains(s, "@") {
		return "the URL"
	}
	return strconv.Quote(s)
}

// String returns the URL without user information.
func (d *Destination) String() string {
	if d == nil {
		return ""
	}
	return d.url
}

// credentials returns the user and the password, or the bearer token if the URL contains no user.
// All results are empty if no credentials are set.
func (d *Destination) credentials(getenv func(string) string) (user, password, token string, err error) {
	if d.variable == "" {
		return "", "", getenv(TokenVariable), nil
	}
	if password = getenv(d.variable); password == "" {
		return "", "", "", fmt.Errorf("cannot read the password of the user %q: the environment variable %q is not set; set it, or remove the user from the URL", d.user, d.variable)
	}
	return d.user, password, "", nil
}
