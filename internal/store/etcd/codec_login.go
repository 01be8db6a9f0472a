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
	claimFor      = int64(5 * time.Second)        // a login that takes longer is somebody else's turn
	retryAfter    = int64(200 * time.Millisecond) // after a failure that may pass
	lookAgain     = int64(5 * time.Millisecond)   // a codec without a token looks whether it came
	lookSometimes = int64(100 * time.Millisecond) // one with a token, whether it was rejected elsewhere
	loginAttempts = 50                            // in a row, before the failure is reported
)

// newLogin returns nil without a user.
func newLogin(user, password string) *login {
	if user == "" {
		return nil
	}
	return &login{user: user, password: password}
}

// ready reports whether c can send operations, and gives it the newest token.
func (l *login) ready(c *codec) bool {
	if l.have && c.gen != l.gen {
		if l.token != "" && c.conn.SetMetadata("token", l.token) != nil {
			return false // reported by answer, which saw the token first
		}
		c.gen = l.gen
	}
	return l.have
}

// act lets c log in if it is time and nobody else does.
func (l *login) act(c *codec) {
	switch {
	case l.have && (l.token == "" || c.now-l.asked < renewAfter):
		return
	case l.owner != nil && c.now-l.claimed < claimFor:
		return
	case c.now < l.retryAt, !c.conn.Greeted(), c.conn.Room() == 0:
		return
	}
	if l.owner != nil {
		l.owner.conn.Cancel(authTag)
	}
	l.owner, l.claimed = c, c.now
	c.authenticate(l.user, l.password)
}

// next is when c wants to be called again. Room changes without an event on
// c's connection when another one gets a token, or learns that it is bad.
func (l *login) next(c *codec) int64 {
	switch {
	case !l.have:
		return c.now + lookAgain
	case l.token == "":
		return 0
	}
	return c.now + lookSometimes
}

// answer takes the answer to c's login. An error is final.
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
		l.serves(string(token))
		c.gen = l.gen
		return nil
	case text == "authentication is not enabled":
		l.serves("")
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

// final reports whether a login that ended so would end so again.
func final(o kv.Outcome) bool { return o == kv.Denied || o == kv.BadRequest }

// serves takes a token that is good from now on.
func (l *login) serves(token string) {
	l.have, l.token, l.asked = true, token, l.claimed
	l.gen++
	l.retryAt, l.failures = 0, 0
}

// rejected says that the member did not take a token, given its generation's
// low bits. An older one's rejection is no news.
func (l *login) rejected(gen uint8) {
	if gen == uint8(l.gen)&genMask {
		l.have = false
	}
}

// lost says that c's connection ended: another codec may log in.
func (l *login) lost(c *codec) {
	if l.owner == c {
		l.owner = nil
	}
}

// tokenRejected knows the answers after which a new token helps.
func tokenRejected(text []byte) bool {
	switch string(text) {
	case "etcdserver: invalid auth token", "etcdserver: revision of auth store is old":
		return true
	}
	return false
}

// parseText reads the one text that matters of a message {header: 1, text: 2}: an
// AuthenticateResponse's token, or a LockResponse's key.
func parseText(b []byte) (text []byte, ok bool) {
	f := fields{b: b}
	for f.next() {
		if f.tag == 2<<3|pbBytes {
			text = f.v
		}
	}
	return text, f.ok()
}
