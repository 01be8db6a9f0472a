package consul

import "net/http"

// anyToken keeps the official client from reading a token from the environment or
// from a file named there. It is never sent.
const anyToken = "quorumbench-sends-none-of-the-environment"

// asGiven sends only the given token, and nothing that the official client takes
// from the environment: CONSUL_HTTP_TOKEN, CONSUL_HTTP_AUTH, CONSUL_NAMESPACE,
// CONSUL_PARTITION.
type asGiven struct {
	next  http.RoundTripper
	token string
}

func (a asGiven) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("Authorization")
	if r.Header.Del("X-Consul-Token"); a.token != "" {
		r.Header.Set("X-Consul-Token", a.token)
	}
	query := r.URL.Query()
	query.Del("ns")
	query.Del("partition")
	r.URL.RawQuery = query.Encode()
	return a.next.RoundTrip(r)
}

// CloseIdleConnections closes the inner transport's idle connections, which
// http.Client would not find.
func (a asGiven) CloseIdleConnections() {
	if c, ok := a.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
