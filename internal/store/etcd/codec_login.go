package etcd

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// Durations for the login, in nanoseconds, and the maximum number of failed attempts.
const (
	renewAfter       = int64(2 * time.Minute)        // age at which a token is renewed; etcd's simple tokens expire after 5 min by default
	claimTimeout     = int64(5 * time.Second)        // time after which another codec may take over a login that has received no reply
	retryAfter       = int64(200 * time.Millisecond) // wait after a temporary failure
	pollWithoutToken = int64(5 * time.Millisecond)   // interval at which a codec without a token checks whether a token has arrived
	pollWithToken    = int64(100 * time.Millisecond) // interval at which a codec with a token checks whether the token was rejected
	maxLoginAttempts = 50                            // number of consecutive failures after which the error is reported
)

// newLogin returns the login for a user, or nil if the user name is empty.
func newLogin(user, password string) *login {
	if user == "" {
		return nil
	}
	return &login{user: user, password: password}
}

// ready reports whether there is a valid token, so that c can send operations. It makes c use the
// newest token.
func (l *login) ready(c *codec) bool {
	if l.hasToken && c.gen != l.gen {
		if l.token != "" {
			_ = c.conn.SetMetadata("token", l.token) // cannot fail, because handleReply stores only tokens that can be sent
		}
		c.gen = l.gen
	}
	return l.hasToken
}

// startIfNeeded starts a login on c, if a login is needed and no other codec is logging in.
func (l *login) startIfNeeded(c *codec) {
	switch {
	case l.hasToken && (l.token == "" || c.now-l.requestedAt < renewAfter):
		return
	case l.owner != nil && c.now-l.claimedAt < claimTimeout:
		return
	case c.now < l.retryAt, !c.conn.SettingsReceived(), c.conn.Room() == 0:
		return
	}
	if l.owner != nil {
		l.owner.conn.Cancel(authTag)
	}
	l.owner, l.claimedAt = c, c.now
	c.authenticate(l.user, l.password)
}

// nextCheck returns the time at which Tick must be called again for c, or 0 if authentication is
// disabled. When another codec receives a token, or finds that the token was rejected, the result
// of c.Room changes without any input on c's connection. So c must check for such changes
// regularly.
func (l *login) nextCheck(c *codec) int64 {
	switch {
	case !l.hasToken:
		return c.now + pollWithoutToken
	case l.token == "":
		return 0
	}
	return c.now + pollWithToken
}

// handleReply handles the reply to c's login. If it returns an error, no further attempt can
// succeed.
func (l *login) handleReply(c *codec, r *h2.Reply) error {
	if l.owner == c {
		l.owner = nil
	}
	text := strings.TrimPrefix(string(r.Text), "etcdserver: ")
	switch {
	case r.End == h2.Answered && r.Code == h2.StatusOK:
		token, ok := parseToken(r.Body)
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
	case r.End == h2.Answered && isPermanent(OutcomeOf(codes.Code(r.Code), r.Text)):
		l.retryAt = c.now + retryAfter
		return fmt.Errorf("etcd refused user %s: %s", l.user, text)
	}
	if l.failures++; l.failures >= maxLoginAttempts {
		return fmt.Errorf("etcd could not authenticate user %s in %d attempts: %s", l.user, l.failures, text)
	}
	l.retryAt = c.now + retryAfter
	return nil
}

// isPermanent reports whether a failed login would fail again in the same way.
func isPermanent(o kv.Outcome) bool { return o == kv.Denied || o == kv.BadRequest }

// storeToken stores a new valid token. The token is empty if authentication is disabled in the
// cluster.
func (l *login) storeToken(token string) {
	l.hasToken, l.token, l.requestedAt = true, token, l.claimedAt
	l.gen++
	l.retryAt, l.failures = 0, 0
}

// handleRejection handles a member's rejection of a token. gen contains the low bits of the token's
// generation. If a newer token has already arrived, the rejection is ignored.
func (l *login) handleRejection(gen uint8) {
	if gen == uint8(l.gen)&genMask {
		l.hasToken = false
	}
}

// handleLostConnection handles the end of c's connection. If c was logging in, another codec may
// now log in.
func (l *login) handleLostConnection(c *codec) {
	if l.owner == c {
		l.owner = nil
	}
}

// tokenRejected reports whether an error text means that a new token is needed.
func tokenRejected(text []byte) bool {
	switch string(text) {
	case "etcdserver: invalid auth token", "etcdserver: revision of auth store is old":
		return true
	}
	return false
}

// parseToken returns the token in an AuthenticateResponse.
func parseToken(b []byte) (token []byte, ok bool) {
	f := fields{b: b}
	for f.next() {
		if f.tag == message.TokenTag {
			token = f.v
		}
	}
	return token, f.ok()
}
