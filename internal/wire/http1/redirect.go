package http1

import (
	"bytes"
	"errors"
	"fmt"
)

// Redirect follows a redirect: it repeats the last request, which was just answered, with the
// target in a Location field (RFC 9110, section 15.4). The Location must be a path, or a URL with
// this connection's host. Redirect returns an error if it cannot follow the redirect on this
// connection.
func (c *Conn) Redirect(location []byte) error {
	target, err := c.targetOf(location)
	if err != nil {
		return err
	}
	if !c.Idle() {
		return fmt.Errorf("the server redirects the request to %.200q, but closes the connection", location)
	}
	method := bytes.IndexByte(c.out, ' ') + 1
	rest := bytes.IndexByte(c.out[method:], ' ')
	if method == 0 || rest < 0 {
		return errors.New("the server redirects, although no request was sent")
	}
	b := make([]byte, 0, len(c.out)+len(target))
	b = append(b, c.out[:method]...)
	b = append(b, target...)
	b = append(b, c.out[method+rest:]...)
	c.out, c.sent, c.open, c.late = b, 0, true, false
	c.expectHead()
	return nil
}

// targetOf returns the request target for a Location value. It returns an error if the Location is
// on another host.
func (c *Conn) targetOf(location []byte) ([]byte, error) {
	if len(location) == 0 {
		return nil, errors.New("the server redirects the request, but its response has no Location")
	}
	target := location
	for _, scheme := range []string{"http://", "https://"} {
		if len(location) > len(scheme) && bytes.EqualFold(location[:len(scheme)], []byte(scheme)) {
			target = location[len(scheme):]
			host := target
			if slash := bytes.IndexByte(target, '/'); slash >= 0 {
				host, target = target[:slash], target[slash:]
			}
			if !bytes.EqualFold(host, []byte(c.cfg.Host)) {
				return nil, fmt.Errorf("the server redirects the request to another server, %.200s", host)
			}
		}
	}
	if target[0] != '/' || len(target) > 1 && target[1] == '/' || bytes.ContainsAny(target, " \r\n\t") {
		return nil, fmt.Errorf("the server redirects to %.200q, which is not a valid target on this connection", location)
	}
	return target, nil
}
