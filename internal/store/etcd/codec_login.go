package etcd

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// Times of authentication, in nanoseconds.
const (
	renewAfter    = int64(2 * time.Minute)        // etcd's simple tokens live 5 minutes by default
	claimFor      = int64(5 * time.Second)        // after this time another codec may log in
	retryAfter    = int64(200 * time.Millisecond) // after a temporary failure
	lookAgain     = int64(5 * time.Millisecond)   // how often a codec without a token checks for one
	lookSometimes = int64(100 * time.Millisecond) // how often a codec with a token checks whether it was rejected
	loginAttempts = 50                            // consecutive failures before the error is reported
)

// newLogin returns nil if there is no user.
func newLogin(user, password string) *login {
	if user == "" {
		return nil
	}
	return &login{user: user, password: password}
}

// ready reports whether c can send operations, and gives c the newest token.
func (l *login) ready(c *codec) bool {
	if l.have && c.gen != l.gen {
		if l.token != "" && c.conn.SetMetadata("token", l.token) != nil {
			return false // answer, which saw the token first, has reported the error
		}
		c.gen = l.gen
	}
	return l.have
}

// act starts a login on c if one is due and no other codec is logging in.
func (l *login) act(c *codec) {
	switch {
	case l.have && (l.token == "" || c.now-l.asked < renewAfter):
		return
	case l.owner != nil && c.now-l.claimed < claimFor:
		return
	case c.now < l.retryAt, !c.conn.SettingsReceived(), c.conn.Room() == 0:
		return
	}
	if l.owner != nil {
		l.owner.conn.Cancel(authTag)
	}
	l.owner, l.claimed = c, c.now
	c.authenticate(l.user, l.password)
}

// next returns when Tick must be called again for c. Room changes without an
// event on c's connection when another codec receives a token or finds that it
// was rejected.
func (l *login) next(c *codec) int64 {
	switch {
	case !l.have:
		return c.now + lookAgain
	case l.token == "":
		return 0
	}
	return c.now + lookSometimes
}

// answer handles the reply to c's login. Its errors are permanent.
func (l *login) answer(c *codec, r *h2.Reply) error {
	if l.owner == c {
		l.owner = nil
	}
	text := strings.TrimPrefix(string(r.Text), "etcdserver: ")
	switch {
	case r.End == h2.Answered && r.Code == h2.StatusOK:
		token, ok := parseText(r.Body)
		if !ok || len(token) == 0 {
			return errMalformed
		}
		if err := c.conn.SetMetadata("token", string(token)); err != nil {
			return err
		}
		l.storeToken(string(token))
		c.gen = l.gen
		return nil
	case text == "authentication is not enabled":
		l.storeToken("")
		return nil
	case r.End == h2.Answered && final(OutcomeOf(codes.Code(r.Code), r.Text)):
		l.retryAt = c.now + retryAfter
		return fmt.Errorf("etcd refused user %s: %s", l.user, text)
	}
	if l.failures++; l.failures >= loginAttempts {
		return fmt.Errorf("etcd could not authenticate user %s in %d attempts: %s", l.user, l.failures, text)
	}
	l.retryAt = c.now + retryAfter
	return nil
}

// final reports whether a repeated login would fail with the same outcome.
func final(o kv.Outcome) bool { return o == kv.Denied || o == kv.BadRequest }

// storeToken stores a new valid token; "" if the server has authentication disabled.
func (l *login) storeToken(token string) {
	l.have, l.token, l.asked = true, token, l.claimed
	l.gen++
	l.retryAt, l.failures = 0, 0
}

// rejected records that the member rejected the token with these low bits of its
// generation. Rejections of older tokens are ignored.
func (l *login) rejected(gen uint8) {
	if gen == uint8(l.gen)&genMask {
		l.have = false
	}
}

// lost records that c's connection ended, so that another codec may log in.
func (l *login) lost(c *codec) {
	if l.owner == c {
		l.owner = nil
	}
}

// tokenRejected reports whether an error means that a new token is needed.
func tokenRejected(text []byte) bool {
	switch string(text) {
	case "etcdserver: invalid auth token", "etcdserver: revision of auth store is old":
		return true
	}
	return false
}

// parseText returns field 2 of a message {header: 1, text: 2}: the token of an
// AuthenticateResponse, or the key of a LockResponse.
func parseText(b []byte) (text []byte, ok bool) {
	f := fields{b: b}
	for f.next() {
		if f.tag == 2<<3|pbBytes {
			text = f.v
		}
	}
	return text, f.ok()
}
