package etcdv2

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

// call sends a request to one endpoint. If `into` is a func(io.Reader) error, call passes the
// response's body to this function. If `into` is nil, call ignores the body. Otherwise `into` is
// a pointer, and call decodes the body as JSON into its target.
func (a *admin) call(ctx context.Context, method, endpoint, target string, into any) (http.Header, error) {
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("{}")
	}
	req, err := http.NewRequestWithContext(ctx, method, a.access.URL(endpoint)+target, body)
	if err != nil {
		return nil, fmt.Errorf("%s%s is not a valid URL: %w", endpoint, target, err)
	}
	if a.access.User != "" {
		req.SetBasicAuth(a.access.User, a.access.Password)
	}
	r, err := a.client.Do(req)
	if err != nil {
		return nil, errors.New(httpkv.Reason(ctx, err))
	}
	defer func() { _ = r.Body.Close() }()
	var text []byte
	read, reads := into.(func(io.Reader) error)
	switch {
	case r.StatusCode >= 300:
		text, err = io.ReadAll(io.LimitReader(r.Body, maxError))
	case reads:
		err = read(r.Body)
	default:
		if text, err = io.ReadAll(r.Body); err == nil && into != nil && json.Unmarshal(text, into) != nil {
			err = fmt.Errorf("the response to %s is not from etcd's v2 API", target)
		}
	}
	switch {
	case err != nil:
		return r.Header, errors.New(httpkv.Reason(ctx, err))
	case r.StatusCode >= 300:
		return r.Header, statusError(r.StatusCode, text)
	}
	return r.Header, nil
}

// maxError limits the number of bytes that are read from an error response.
const maxError = 1 << 20

// httpError is the error for a response with an error status.
type httpError struct {
	status int
	code   int // error code of the v2 API; 0 for other errors
	text   string
}

func (e *httpError) Error() string { return e.text }

func statusError(status int, body []byte) error {
	var e struct {
		ErrorCode      int
		Message, Cause string
	}
	if json.Unmarshal(body, &e) == nil && e.Message != "" {
		if e.Cause != "" {
			e.Message += " (" + e.Cause + ")"
		}
		return &httpError{status, e.ErrorCode, e.Message[:min(len(e.Message), httpkv.MaxText)]}
	}
	if status == http.StatusNotFound {
		return &httpError{status, 0, noV2API}
	}
	return &httpError{status, 0, fmt.Sprintf("HTTP status %d", status)}
}

// tryEndpoints sends the request to one endpoint after the other until an endpoint responds. The
// parameter `into` has the same meaning as in call.
func (a *admin) tryEndpoints(ctx context.Context, method, target string, into any) error {
	var errs []string
	for _, e := range a.access.Endpoints {
		limited, cancel := context.WithTimeout(ctx, a.timeout)
		_, err := a.call(limited, method, e, target, into)
		cancel()
		var answered *httpError
		if err == nil || errors.As(err, &answered) {
			return err
		}
		errs = append(errs, e+": "+err.Error())
	}
	return errors.New(strings.Join(errs, "; "))
}

// UncheckedUserReason implements store.Admin. Every client can ask a member whether authentication
// is enabled.
func (a *admin) UncheckedUserReason(ctx context.Context) (string, error) {
	var errs []error
	for _, e := range a.access.Endpoints {
		var auth struct{ Enabled *bool }
		_, err := a.call(ctx, http.MethodGet, e, "/v2/auth/enable", &auth)
		switch {
		case err != nil:
			errs = append(errs, err)
		case auth.Enabled != nil && !*auth.Enabled:
			return "authentication is off in this cluster", nil
		default:
			return "", nil
		}
	}
	return "", errors.Join(errs...)
}
