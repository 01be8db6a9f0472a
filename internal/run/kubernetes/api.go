// Package kubernetes runs agents or a check in pods, and removes these pods. It calls the
// Kubernetes API with net/http, defines only a few types, and creates objects in the API's JSON
// form. Kubernetes' own client and types would make up a sixth of our binary.
package kubernetes

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// api is a connection to the API for one namespace.
type api struct {
	server    *url.URL
	login     *login
	client    *http.Client
	context   string // in the kubeconfig; empty in a pod
	namespace string
	inPod     bool // whether we run in a pod of this cluster
}

// connect determines the API server in the same way as kubectl. It sends no request.
func connect(o *Options) (*api, error) {
	given, err := findAccess(o.Kubeconfig, o.Context)
	if err != nil {
		return nil, err
	}
	a := &api{context: given.context, namespace: o.Namespace}
	if a.namespace == "" {
		a.namespace = given.namespace
	}
	inside := podAccess(serviceAccount)
	a.inPod = inside != nil && inside.cluster.Server == given.cluster.Server
	if a.server, err = url.Parse(given.cluster.Server); err == nil {
		a.login, err = newLogin(given)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use the kubeconfig: %w", err)
	}
	a.client = &http.Client{Transport: authorized{a.login, &http.Transport{
		Proxy: a.login.proxy, TLSClientConfig: a.login.tls.Clone(), ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second,
	}}}
	return a, nil
}

// groups maps kinds of objects to their paths in the API.
var groups = map[string]string{"jobs": "/apis/batch/v1", "pods": "/api/v1", "secrets": "/api/v1", "events": "/api/v1", "persistentvolumeclaims": "/api/v1", "nodes": "/api/v1"}

// withNamespace returns a connection for another namespace. If namespace is empty, the connection
// is for objects that are in no namespace.
func (a *api) withNamespace(namespace string) *api {
	other := *a
	other.namespace = namespace
	return &other
}

// path returns the URL of all objects of a kind. With one name, it returns the URL of one object;
// with further names, the URL of a part of that object.
func (a *api) path(kind string, names ...string) *url.URL {
	where := []string{groups[kind]}
	if a.namespace != "" {
		where = append(where, "namespaces", a.namespace)
	}
	return a.server.JoinPath(append(append(where, kind), names...)...)
}

// apiError is an error response of the API to a request.
type apiError struct {
	Code    int
	Message string
}

// Error returns the API's message.
func (e *apiError) Error() string { return e.Message }

// isNotFound reports whether the API responded that the object does not exist.
func isNotFound(err error) bool {
	var said *apiError
	return errors.As(err, &said) && said.Code == http.StatusNotFound
}

// isRefused reports whether the API rejected a request without executing it. After a 5xx response,
// which an overloaded etcd can cause, the request may have been executed. Code 409 may mean that an
// earlier attempt was executed, because `send` repeats requests.
func isRefused(err error) bool {
	var said *apiError
	if !errors.As(err, &said) {
		return false
	}
	switch said.Code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	}
	return said.Code >= 400 && said.Code < 500
}

// isNothingCreated reports whether the error from an attempt to create an object proves that the
// object does not exist: the API rejected the request, or the request was never sent.
func isNothingCreated(err error) bool {
	var noLogin *loginError
	var badCertificate *tls.CertificateVerificationError
	var dial *net.OpError
	return isRefused(err) || errors.As(err, &noLogin) || errors.As(err, &badCertificate) ||
		errors.As(err, &dial) && (dial.Op == "dial" || dial.Op == "proxyconnect")
}

// maxAnswer is the maximum number of bytes that are read from a response.
const maxAnswer = 64 << 20

// maxAttempts is the maximum number of times that a request is sent if the API always responds that
// the request must be repeated later.
const maxAttempts = 10

// ask sends a request, and repeats the request if the API responds that this is necessary. It
// decodes the response into the value to which result points, unless result is nil.
func (a *api) ask(ctx context.Context, method string, endpoint *url.URL, contentType string, body []byte, result any) error {
	b, err := a.send(ctx, method, endpoint, contentType, body)
	if err == nil && result != nil {
		err = json.Unmarshal(b, result)
	}
	return err
}

func (a *api) send(ctx context.Context, method string, endpoint *url.URL, contentType string, body []byte) (answer []byte, err error) {
	for range maxAttempts {
		var retryDelay time.Duration
		answer, retryDelay, err = a.sendOnce(ctx, method, endpoint, contentType, body)
		if err == nil || retryDelay == 0 {
			break
		}
		if !measure.Pause(ctx, retryDelay) {
			return nil, ctx.Err()
		}
	}
	return answer, err
}

// sendOnce sends a request. If it returns an error, retryDelay is the time to wait before the next
// attempt, or 0 if the request must not be sent again.
func (a *api) sendOnce(ctx context.Context, method string, endpoint *url.URL, contentType string, body []byte) (answer []byte, retryDelay time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, method, endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Accept", "application/json")
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	reply, err := a.client.Do(r)
	if err == nil {
		answer, err = io.ReadAll(io.LimitReader(reply.Body, maxAnswer))
		err = errors.Join(err, reply.Body.Close())
	}
	switch {
	case err != nil && method == http.MethodGet && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return nil, time.Second, err
	case err != nil:
		return nil, 0, err
	case reply.StatusCode < 300:
		return answer, 0, nil
	}
	if after, err := strconv.Atoi(reply.Header.Get("Retry-After")); err == nil && (reply.StatusCode == http.StatusTooManyRequests || reply.StatusCode >= 500) {
		retryDelay = max(time.Duration(after)*time.Second, time.Millisecond)
	}
	return nil, retryDelay, newAPIError(reply, answer)
}

// newAPIError returns the error in a response of the API.
func newAPIError(reply *http.Response, answer []byte) *apiError {
	said := &apiError{}
	if json.Unmarshal(answer, said) != nil || said.Message == "" {
		said.Message = fmt.Sprintf("the API returned %s: %s", reply.Status, said.Message+strings.TrimSpace(string(answer[:min(len(answer), maxTextBytes)])))
	}
	said.Code = reply.StatusCode
	return said
}

func (a *api) create(ctx context.Context, kind string, body object, created any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return a.ask(ctx, http.MethodPost, a.path(kind), "application/json", b, created)
}

// list reads the objects that match a selector, and decodes the response into the value to which
// result points. The kind of the selector is labelSelector or fieldSelector.
func (a *api) list(ctx context.Context, kind, selectorKind, selector string, result any) error {
	at := a.path(kind)
	at.RawQuery = url.Values{selectorKind: {selector}}.Encode()
	return a.ask(ctx, http.MethodGet, at, "", nil, result)
}

const (
	labelSelector = "labelSelector"
	fieldSelector = "fieldSelector"
)

// log returns the last lines of the log of a pod's container, or "" if it cannot be read.
func (a *api) log(ctx context.Context, pod string) string {
	at := a.path("pods", pod, "log")
	at.RawQuery = "tailLines=5"
	b, err := a.send(ctx, http.MethodGet, at, "", nil)
	if err != nil {
		return ""
	}
	return string(b)
}

// object is an object of the API, or a part of an object, in its JSON form.
type object map[string]any

// metadata contains the fields that identify an object.
type metadata struct {
	Name, UID           string
	Labels, Annotations map[string]string
}

// maxTextBytes is the maximum number of bytes that are quoted from a text that Kubernetes returned.
const maxTextBytes = 600

func statusText(words string) string {
	return text.Line(strings.Join(strings.Fields(words), " "), maxTextBytes)
}
