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

// h1Conn is the server's end of one HTTP/1.1 connection.
type h1Conn struct {
	net.Conn
	in     *bufio.Reader
	up     *http.Transport
	host   string // of the server behind
	served int    // requests
}

// h1Answer is an answer.
type h1Answer struct {
	status int
	fields http.Header
	body   []byte
}

// h1Kind makes a kind of what a server answers to a request; nil is what is
// right. An answer that returns false ends the connection.
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
				if !c.send(c.right(r)) {
					return
				}
			} else if !answer(c, r) {
				return
			}
		}
	}}
}

// right is the answer of the server behind.
func (c *h1Conn) right(r *http.Request) h1Answer {
	failed := h1Answer{status: http.StatusBadGateway, fields: http.Header{}}
	r.URL.Scheme, r.URL.Host, r.RequestURI = "http", c.host, ""
	got, err := c.up.RoundTrip(r)
	if err != nil {
		return failed
	}
	defer func() { _ = got.Body.Close() }() // it was read
	body, err := io.ReadAll(got.Body)
	if err != nil {
		return failed
	}
	return h1Answer{got.StatusCode, got.Header, body}
}

// head is an answer's head, with a Content-Length.
func (a *h1Answer) head() []byte {
	return a.headOf("Content-Length: " + strconv.Itoa(len(a.body)))
}

// headOf is one with a given last field, or several.
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

// send sends an answer as it is to be sent.
func (c *h1Conn) send(a h1Answer) bool {
	return c.write(append(a.head(), a.body...))
}

func (c *h1Conn) write(b []byte) bool {
	_, err := c.Write(b)
	return err == nil
}

// operation is the name, as in loads, of what a request asks for; empty if it is
// no operation.
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

// gatewayOperation is one of etcd's JSON gateway, which the body says.
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

// EmptyLists is no hostile server: it says of a key that is not there that the
// list of its values is empty, where the server behind answers 404.
func EmptyLists() Kind {
	return h1Kind("404 as an empty list", func(c *h1Conn, r *http.Request) bool {
		a := c.right(r)
		if a.status == http.StatusNotFound {
			a.status, a.body = http.StatusOK, []byte("[]")
		}
		return c.send(a)
	})
}
