package consul

import "net/http"

// placeholderToken prevents the official client from reading a token from the environment, or from
// a file that the environment refers to. It is never sent.
const placeholderToken = "quorumbench-sends-none-of-the-environment"

// tokenTransport is a transport that sends only the given token. It removes the settings that the
// official client takes from the environment variables CONSUL_HTTP_TOKEN, CONSUL_HTTP_AUTH,
// CONSUL_NAMESPACE and CONSUL_PARTITION.
type tokenTransport struct {
	next  http.RoundTripper
	token string
}

func (a tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
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

// CloseIdleConnections closes the idle connections of the inner transport. http.Client calls this
// method if the transport has it.
func (a tokenTransport) CloseIdleConnections() {
	if c, ok := a.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
