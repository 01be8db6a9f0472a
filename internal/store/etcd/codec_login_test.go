package etcd

import (
	"fmt"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

const authPath = "/etcdserverpb.Auth/Authenticate"

// loop returns n scripted connections that belong to one event loop and log in as one user.
func loop(t *testing.T, n int) (conns []*scripted) {
	codecs := newCodecs(store.Access{User: "root", Password: "secret"})
	for range n {
		conns = append(conns, newScripted(t, codecs(store.ConnectionInfo{Endpoint: "127.0.0.1:2379"})))
	}
	return conns
}

// wantLogin checks that the connection has sent a login and nothing else.
func wantLogin(t *testing.T, s *scripted) *grpcCall {
	t.Helper()
	var m pb.AuthenticateRequest
	call := s.call(authPath, &m)
	if m.Name != "root" || m.Password != "secret" || call.token != "" {
		t.Fatalf("login %q %q with token %q", m.Name, m.Password, call.token)
	}
	return call
}

func (s *scripted) grant(id uint32, token string) {
	s.t.Helper()
	s.answer(id, &pb.AuthenticateResponse{Header: testHeader, Token: token})
	if events := s.feed(); len(events) != 0 {
		s.t.Fatalf("a login produced events: %+v", events)
	}
}

// wantToken checks which token the connection's next call contains.
func wantToken(t *testing.T, s *scripted, token string) *grpcCall {
	t.Helper()
	s.submit(store.Op{Kind: kv.Put, Tag: 1, Key: testKey})
	call := s.call("/etcdserverpb.KV/Put", &pb.PutRequest{})
	if call.token != token {
		t.Fatalf("the token is %q, want %q", call.token, token)
	}
	return call
}

func TestOneLoginForAll(t *testing.T) {
	conns := loop(t, 3)
	for _, s := range conns {
		if s.c.Tick(1) != 1+pollWithoutToken || s.c.Room() != 0 || len(s.calls()) != 0 {
			t.Fatal("a codec logged in before the server's first frame")
		}
	}
	for _, s := range conns {
		s.settings()
		s.feed()
	}
	call := wantLogin(t, conns[0])
	for _, s := range conns[1:] {
		if len(s.calls()) != 0 || s.c.Room() != 0 || s.c.Tick(2) != 2+pollWithoutToken {
			t.Fatal("the second connection does not wait for the first connection's login")
		}
	}
	conns[0].grant(call.id, "token-1")
	for _, s := range conns {
		if s.c.Room() == 0 || s.c.Tick(3) != 3+pollWithToken {
			t.Fatal("the codec does not use the new token")
		}
		wantToken(t, s, "token-1")
	}
}

func TestTokenIsRenewed(t *testing.T) {
	conns := loop(t, 2)
	for _, s := range conns {
		s.c.Tick(0)
		s.settings()
		s.feed()
	}
	conns[0].grant(wantLogin(t, conns[0]).id, "token-1")
	early := renewAfter - 1
	conns[1].c.Tick(early)
	if len(conns[1].calls()) != 0 {
		t.Fatal("the codec renewed the token too early")
	}
	conns[1].c.Tick(renewAfter)
	call := wantLogin(t, conns[1])
	conns[0].c.Tick(renewAfter)
	wantToken(t, conns[0], "token-1") // the old token stays in use until the new one arrives
	conns[1].grant(call.id, "token-2")
	for _, s := range conns {
		wantToken(t, s, "token-2")
		s.c.Tick(renewAfter + 10)
		if len(s.calls()) != 0 {
			t.Fatal("the codec renewed the token twice")
		}
	}
}

func TestRejectedTokenIsReplaced(t *testing.T) {
	conns := loop(t, 2)
	for _, s := range conns {
		s.settings()
		s.feed()
	}
	conns[0].grant(wantLogin(t, conns[0]).id, "token-1")
	first, late := wantToken(t, conns[0], "token-1"), wantToken(t, conns[0], "token-1")
	conns[0].refuse(first.id, "16", "etcdserver: invalid auth token")
	if e := conns[0].event(1); e.Outcome != kv.Denied {
		t.Fatalf("event %+v", e)
	}
	if conns[0].c.Room() != 0 || conns[1].c.Room() != 0 {
		t.Fatal("the codec uses a rejected token")
	}
	conns[0].grant(wantLogin(t, conns[0]).id, "token-2")
	// A late rejection of the old token must not invalidate the new token.
	conns[0].refuse(late.id, "16", "etcdserver: invalid auth token")
	conns[0].event(1)
	wantToken(t, conns[1], "token-2")
	wantToken(t, conns[0], "token-2")
}

func TestAnotherConnectionTakesOver(t *testing.T) {
	conns := loop(t, 3)
	for _, s := range conns {
		s.c.Tick(0)
		s.settings()
		s.feed()
	}
	wantLogin(t, conns[0])
	if lost := conns[0].c.Lost(nil); len(lost) != 0 {
		t.Fatalf("a lost login produced events: %+v", lost)
	}
	conns[1].c.Tick(pollWithoutToken)
	slow := wantLogin(t, conns[1])
	conns[2].c.Tick(pollWithoutToken + claimTimeout - 1)
	if len(conns[2].calls()) != 0 {
		t.Fatal("two connections log in at the same time")
	}
	conns[2].c.Tick(pollWithoutToken + claimTimeout) // the first login is taking too long
	wantLogin(t, conns[2])
	conns[1].answer(slow.id, &pb.AuthenticateResponse{Token: "late"})
	conns[1].feed()
	if conns[1].c.Room() != 0 {
		t.Fatal("the codec uses the token of an abandoned login")
	}
}

func TestWrongPassword(t *testing.T) {
	s := loop(t, 1)[0]
	s.settings()
	s.feed()
	s.refuse(wantLogin(t, s).id, "3", "etcdserver: authentication failed, invalid user ID or password")
	_, err := s.tryFeed()
	if want := "etcd refused user root: authentication failed, invalid user ID or password"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestAuthenticationTurnedOff(t *testing.T) {
	s := loop(t, 1)[0]
	s.settings()
	s.feed()
	s.refuse(wantLogin(t, s).id, "9", "etcdserver: authentication is not enabled")
	s.feed()
	wantToken(t, s, "")
	if s.c.Tick(int64(time.Hour)) != 0 || len(s.calls()) != 0 {
		t.Error("the codec renews a token although authentication is disabled")
	}
}

func TestLoginIsTriedAgain(t *testing.T) {
	s := loop(t, 1)[0]
	s.settings()
	s.feed()
	now := int64(0)
	for i := 1; ; i++ {
		s.refuse(wantLogin(t, s).id, "14", "etcdserver: request timed out")
		if _, err := s.tryFeed(); err != nil {
			want := "etcd could not authenticate user root in 50 attempts: request timed out"
			if i != maxLoginAttempts || err.Error() != want {
				t.Errorf("attempt %d: %v", i, err)
			}
			break
		}
		if s.c.Tick(now + retryAfter - 1); len(s.calls()) != 0 {
			t.Fatal("the codec retried the login before the retry delay was over")
		}
		now += retryAfter
		s.c.Tick(now)
	}
}

func TestRefusesInvalidTokens(t *testing.T) {
	for token, want := range map[string]string{
		"":                         errMalformed.Error(),
		strings.Repeat("x", 10000): "the value of the header token has 10000 bytes",
	} {
		s := loop(t, 1)[0]
		s.settings()
		s.feed()
		s.answer(wantLogin(t, s).id, &pb.AuthenticateResponse{Token: token})
		if _, err := s.tryFeed(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("feeding a token of %d bytes returned: %v", len(token), err)
		}
	}
}

func TestManyRenewals(t *testing.T) {
	conns := loop(t, 2)
	for _, s := range conns {
		s.settings()
		s.feed()
	}
	for i := range 100 {
		now := int64(i) * renewAfter
		if i > 0 {
			conns[0].c.Tick(now)
		}
		token := fmt.Sprintf("simple-token-of-some-length.%d", i)
		conns[0].grant(wantLogin(t, conns[0]).id, token)
		wantToken(t, conns[i%2], token)
	}
}
