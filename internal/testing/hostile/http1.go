package hostile

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// h1Conn is the server's end of an HTTP/1.1 connection.
type h1Conn struct {
	net.Conn
	in     *bufio.Reader
	up     *http.Transport
	host   string // address of the upstream server
	served int    // number of requests so far
}

type h1Answer struct {
	status int
	fields http.Header
	body   []byte
}

// h1Kind returns a kind. For each request, the server calls the function `answer`. If `answer` is
// nil, the server responds correctly. If `answer` returns false, the server closes the connection.
func h1Kind(name string, answer func(c *h1Conn, r *http.Request) bool) Kind {
	return Kind{Name: name, serve: func(nc net.Conn, upstream string) {
		c := &h1Conn{Conn: nc, in: bufio.NewReader(nc), up: &http.Transport{DisableCompression: true}, host: upstream}
		defer c.up.CloseIdleConnections()
		for {
			r, err := http.ReadRequest(c.in)
			if err != nil {
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			c.served++
			if answer == nil {
				if !c.send(c.correctAnswer(r)) {
					return
				}
			} else if !answer(c, r) {
				return
			}
		}
	}}
}

// correctAnswer returns the upstream server's response to a request.
func (c *h1Conn) correctAnswer(r *http.Request) h1Answer {
	failed := h1Answer{status: http.StatusBadGateway, fields: http.Header{}}
	r.URL.Scheme, r.URL.Host, r.RequestURI = "http", c.host, ""
	got, err := c.up.RoundTrip(r)
	if err != nil {
		return failed
	}
	defer func() { _ = got.Body.Close() }() // the body was read completely
	body, err := io.ReadAll(got.Body)
	if err != nil {
		return failed
	}
	return h1Answer{got.StatusCode, got.Header, body}
}

// head returns the status line and fields of a response, including a Content-Length field.
func (a *h1Answer) head() []byte {
	return a.headOf("Content-Length: " + strconv.Itoa(len(a.body)))
}

// headOf returns the status line and fields of a response. The given field or fields come last and
// replace Content-Length and Transfer-Encoding.
func (a *h1Answer) headOf(last string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
	for name, values := range a.fields {
		switch name {
		case "Content-Length", "Transfer-Encoding":
			continue
		}
		for _, v := range values {
			fmt.Fprintf(&b, "%s: %s\r\n", name, v)
		}
	}
	fmt.Fprintf(&b, "%s\r\n\r\n", last)
	return b.Bytes()
}

// send sends a response without changes.
func (c *h1Conn) send(a h1Answer) bool {
	return c.write(append(a.head(), a.body...))
}

func (c *h1Conn) write(b []byte) bool {
	_, err := c.Write(b)
	return err == nil
}

// operation returns the name of a request's operation, as in the map that the function `loads`
// returns, or an empty string if the request is not an operation.
func operation(r *http.Request) string {
	query := r.URL.Query()
	has := func(name string) bool { _, ok := query[name]; return ok }
	switch {
	case strings.HasPrefix(r.URL.Path, "/v3/"):
		return gatewayOperation(r)
	case strings.HasPrefix(r.URL.Path, "/v1/txn"):
		return "txn"
	case !strings.HasPrefix(r.URL.Path, "/v1/kv/") && !strings.HasPrefix(r.URL.Path, "/v2/keys/"):
		return ""
	case r.Method == http.MethodDelete:
		return "delete"
	case r.Method == http.MethodPut && (has("cas") || has("prevIndex") || has("prevExist")):
		return "cas"
	case r.Method == http.MethodPut:
		return "put"
	case has("recurse") || has("recursive"):
		return "list"
	}
	return "get"
}

// gatewayOperation returns the operation of a request to etcd's JSON gateway. The request's body
// determines the operation.
func gatewayOperation(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	has := func(name string) bool { return bytes.Contains(body, []byte(`"`+name+`"`)) }
	switch op := strings.TrimPrefix(r.URL.Path, "/v3/kv/"); {
	case op == "range" && has("range_end"):
		return "list"
	case op == "range":
		return "get"
	case op == "put":
		return "put"
	case op == "deleterange":
		return "delete"
	case op == "txn" && has("compare"):
		return "cas"
	case op == "txn":
		return "txn"
	}
	return ""
}

// EmptyLists returns a kind that is not hostile. For a missing key, its server responds with an
// empty list of values, where the upstream server responds with status 404.
func EmptyLists() Kind {
	return h1Kind("404 as an empty list", func(c *h1Conn, r *http.Request) bool {
		a := c.correctAnswer(r)
		if a.status == http.StatusNotFound {
			a.status, a.body = http.StatusOK, []byte("[]")
		}
		return c.send(a)
	})
}
