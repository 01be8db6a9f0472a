package httpkv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/quorumbench/quorumbench/internal/store"
)

const (
	// MaxAnswer limits the body of a response in bytes. Status responses and
	// member lists have some kilobytes.
	MaxAnswer = 4 << 20
	// MaxHeader limits a response's header in bytes.
	MaxHeader = 64 << 10
	// MaxConnections limits the concurrent connections to a server: servers limit
	// the connections from one address, and the load needs most of them.
	MaxConnections = 8
	// MaxRedirects limits how many redirects within one server are followed.
	MaxRedirects = 3
)

// Client returns a client for the requests that are not load, to servers that are not trusted.
// It bounds responses, decompresses nothing, and follows no redirect to another server, which
// would get the token or the password.
func Client(a store.Access) *http.Client {
	t := &http.Transport{
		DisableCompression: true, MaxResponseHeaderBytes: MaxHeader, MaxIdleConnsPerHost: MaxConnections, MaxConnsPerHost: MaxConnections,
		DialContext: func(ctx context.Context, _, endpoint string) (net.Conn, error) { return a.Connect(ctx, endpoint) },
	}
	if a.TLS != nil {
		t.TLSClientConfig = a.TLS.Clone()
		t.TLSClientConfig.NextProtos = nil
	}
	return &http.Client{Transport: bounded{t}, CheckRedirect: sameServer}
}

// sameServer refuses redirects to another server, and redirect loops.
func sameServer(to *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case to.URL.Host != first.Host || to.URL.Scheme != first.Scheme:
		return fmt.Errorf("the server redirects to another server, %.200q, which is not allowed", to.URL.Scheme+"://"+to.URL.Host)
	case len(via) > MaxRedirects:
		return errors.New("the server redirects the request repeatedly")
	}
	return nil
}

type limitKey struct{}

// WithResponseLimit returns a context whose requests accept responses of limit bytes instead of
// MaxAnswer: for lists of keys.
func WithResponseLimit(ctx context.Context, limit int64) context.Context {
	return context.WithValue(ctx, limitKey{}, limit)
}

// bounded is a transport that limits the size of responses.
type bounded struct{ *http.Transport }

// RoundTrip implements http.RoundTripper. It repeats a request after a pause if
// the server refused it because of too many requests.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.Transport.RoundTrip(r)
	for tries := 0; err == nil && answer.StatusCode == http.StatusTooManyRequests && store.WaitRefused(r.Context(), tries); tries++ {
		again := r.Clone(r.Context())
		if r.Body != nil && r.Body != http.NoBody {
			if r.GetBody == nil {
				break
			}
			if again.Body, err = r.GetBody(); err != nil {
				break
			}
		}
		_ = answer.Body.Close() // the status is sufficient
		answer, err = b.Transport.RoundTrip(again)
	}
	if err != nil {
		return nil, err
	}
	limit, ok := r.Context().Value(limitKey{}).(int64)
	if !ok {
		limit = MaxAnswer
	}
	if answer.ContentLength > limit {
		_ = answer.Body.Close() // not read
		return nil, tooLong(limit)
	}
	answer.Body = &body{ReadCloser: answer.Body, left: limit, limit: limit}
	return answer, nil
}

func tooLong(limit int64) error {
	return fmt.Errorf("the server's response is longer than the limit of %d bytes", limit)
}

// body is a response's body that returns an error beyond its limit.
type body struct {
	io.ReadCloser
	left, limit int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, tooLong(b.limit)
	}
	return n, err
}
