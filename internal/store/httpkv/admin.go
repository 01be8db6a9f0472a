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
	// MaxResponse limits the size of a response's body in bytes. Status responses and member lists
	// have a few kilobytes.
	MaxResponse = 4 << 20
	// MaxHeader limits the size of a response's header in bytes.
	MaxHeader = 64 << 10
	// MaxConnections limits the number of concurrent connections to a server. Servers limit the
	// number of connections from one address, and the load needs most of them.
	MaxConnections = 8
	// MaxRedirects limits how many redirects to the same server the client follows for one
	// request.
	MaxRedirects = 3
)

// Client returns a client for requests that do not belong to the load. Servers are not trusted,
// so the client limits the size of responses and does not decompress them. It does not follow
// redirects to another server, because that server would receive the token or the password.
func Client(a store.Access) *http.Client {
	t := &http.Transport{
		DisableCompression: true, MaxResponseHeaderBytes: MaxHeader, MaxIdleConnsPerHost: MaxConnections, MaxConnsPerHost: MaxConnections,
		DialContext: func(ctx context.Context, _, endpoint string) (net.Conn, error) { return a.Connect(ctx, endpoint) },
	}
	if a.TLS != nil {
		t.TLSClientConfig = a.TLS.Clone()
		t.TLSClientConfig.NextProtos = nil
	}
	return &http.Client{Transport: limitedTransport{t}, CheckRedirect: sameServer}
}

// sameServer returns an error for a redirect to another server, and for too many redirects.
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

// WithResponseLimit returns a context for requests whose responses may have up to `limit` bytes
// instead of MaxResponse. Requests for lists of keys need a higher limit.
func WithResponseLimit(ctx context.Context, limit int64) context.Context {
	return context.WithValue(ctx, limitKey{}, limit)
}

// limitedTransport is a transport that returns an error if a response is too large.
type limitedTransport struct{ *http.Transport }

// RoundTrip implements http.RoundTripper. If the server refuses a request with status 429 (too
// many requests), RoundTrip sends the request again after a pause.
func (b limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.Transport.RoundTrip(r)
	for tries := 0; err == nil && answer.StatusCode == http.StatusTooManyRequests && store.WaitAfterRefusal(r.Context(), tries); tries++ {
		again := r.Clone(r.Context())
		if r.Body != nil && r.Body != http.NoBody {
			if r.GetBody == nil {
				break
			}
			if again.Body, err = r.GetBody(); err != nil {
				break
			}
		}
		_ = answer.Body.Close() // only the status is needed
		answer, err = b.Transport.RoundTrip(again)
	}
	if err != nil {
		return nil, err
	}
	limit, ok := r.Context().Value(limitKey{}).(int64)
	if !ok {
		limit = MaxResponse
	}
	if answer.ContentLength > limit {
		_ = answer.Body.Close() // the body is not read
		return nil, tooLargeError(limit)
	}
	answer.Body = &body{ReadCloser: answer.Body, bytesLeft: limit, limit: limit}
	return answer, nil
}

func tooLargeError(limit int64) error {
	return fmt.Errorf("the server's response is longer than the limit of %d bytes", limit)
}

// body is the body of a response. Read returns an error once it has read more than limit bytes.
type body struct {
	io.ReadCloser
	bytesLeft, limit int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if int64(len(p)) > b.bytesLeft+1 {
		p = p[:b.bytesLeft+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.bytesLeft -= int64(n); b.bytesLeft < 0 {
		return 0, tooLargeError(b.limit)
	}
	return n, err
}
