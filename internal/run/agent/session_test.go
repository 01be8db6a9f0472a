package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// manual is a clock that a test advances.
type manual struct {
	mu    sync.Mutex
	now   time.Time
	waits []manualWait
}

type manualWait struct {
	until time.Time
	fired chan time.Time
}

func (m *manual) clock() Clock { return Clock{Now: m.read, After: m.after} }

func (m *manual) read() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *manual) after(d time.Duration) <-chan time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := manualWait{m.now.Add(d), make(chan time.Time, 1)}
	m.waits = append(m.waits, w)
	return w.fired
}

func (m *manual) advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	for _, w := range m.waits {
		if !w.until.After(m.now) {
			select {
			case w.fired <- m.now:
			default:
			}
		}
	}
}

// silent returns a clock whose timers never expire. A controller with this clock sends no
// heartbeats, like a suspended controller.
func silent() Clock {
	return Clock{Now: time.Now, After: func(time.Duration) <-chan time.Time { return nil }}
}

// currentSession returns the agent's current session, or nil.
func (s *Server) currentSession() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// endless is a worker whose calls return only when their contexts are canceled.
type endless struct {
	load.Worker
	began, ended chan struct{}
}

func (w endless) Clock(ctx context.Context) (time.Time, error) {
	close(w.began)
	<-ctx.Done()
	close(w.ended)
	return time.Time{}, ctx.Err()
}

// If the controller's connection ends or the controller is suspended, its load is stopped
// immediately, and its servers are killed at the end of the lease. Until then, another controller
// is rejected. The data remains.
func TestEndsServersOfALostController(t *testing.T) {
	for name, lose := range map[string]func(r *Remote, m *manual){
		"its connection ended":      func(r *Remote, _ *manual) { _ = r.conn.Close() },
		"no heartbeat was received": func(_ *Remote, m *manual) { m.advance(missedHeartbeats * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			m := &manual{now: epoch}
			var mu sync.Mutex
			var said []string
			w := endless{began: make(chan struct{}), ended: make(chan struct{})}
			s, to := served(t, func(o *Options) {
				o.Clock, o.Heartbeat, o.Lease, o.Worker = m.clock(), time.Second, time.Minute, w
				o.Logf = func(format string, args ...any) {
					mu.Lock()
					defer mu.Unlock()
					said = append(said, format)
				}
			})
			s.launch = anything
			to.Clock = silent()
			r := dialled(t, to)
			claim, err := r.Host().Claim(t.Context(), filepath.Join(string(s.folder), "data"))
			if err != nil {
				t.Fatal(err)
			}
			p, err := r.Host().Start(t.Context(), host.Command{Path: "/bin/sleep", Args: []string{"1000"}, Dir: claim.Path()})
			if err != nil {
				t.Fatal(err)
			}
			loadEnded := make(chan error, 1)
			go func() {
				_, err := r.Worker().Clock(context.Background())
				loadEnded <- err
			}()
			<-w.began
			server := s.currentSession().processes[0]
			settle.Eventually(t, "the load is stopped", func() bool {
				lose(r, m)
				select {
				case <-w.ended:
					return true
				default:
					return false
				}
			})
			if err := <-loadEnded; err == nil || !strings.Contains(err.Error(), "agent there at "+to.Address+" is lost") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the load ended with: %v", err)
			}
			<-p.Exited()
			if e := p.Exit(); e.LossReason == "" || !strings.HasPrefix(e.String(), "lost: agent there") {
				t.Errorf("the process's exit is %+v", e)
			}
			settle.Eventually(t, "the lease has begun to run", func() bool { return !s.currentSession().leaseEnd().IsZero() })
			if !server.Identity().Running() {
				t.Error("the server ended before the lease expired")
			}
			if _, err := Dial(t.Context(), to); err == nil || !strings.Contains(err.Error(), "the agent lost its controller") {
				t.Errorf("connecting another controller before the lease expired returned: %v", err)
			}
			settle.Eventually(t, "the session is over", func() bool {
				m.advance(time.Minute)
				return s.currentSession() == nil
			})
			<-server.Exited()
			if e := server.Exit(); e.Signal != "killed" {
				t.Errorf("the server's exit is %v, want an end by SIGKILL", e)
			}
			if _, err := os.Stat(claim.Path()); err != nil {
				t.Errorf("the data folder was removed: %v", err)
			}
			dialled(t, to)
			if _, err := os.Stat(claim.Path()); !os.IsNotExist(err) {
				t.Errorf("the data of the lost session still exists in the next session: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "removed %s, the data that") }) {
				t.Errorf("the agent reported %q", said)
			}
			if len(said) < 3 || !strings.Contains(said[1], "is lost") {
				t.Errorf("the agent reported %q", said)
			}
		})
	}
}

func (s *session) leaseEnd() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.killTime
}

// If the agent is stopped during a session, its controller learns the reason: the call in progress
// and each later request return it.
func TestStoppedAgentNamesTheReason(t *testing.T) {
	w := endless{began: make(chan struct{}), ended: make(chan struct{})}
	s, to := newAgent(t, func(o *Options) { o.Worker = w })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped, l := make(chan error, 1), servers.Loopback(t)
	to.Address = l.Addr().String()
	go func() { stopped <- s.Serve(ctx, l) }()
	r := dialled(t, to)
	loadEnded := make(chan error, 1)
	go func() {
		_, err := r.Worker().Clock(context.Background())
		loadEnded <- err
	}()
	<-w.began
	stop()
	<-r.ended
	want := "agent there at " + to.Address + " is lost: the agent was stopped"
	if err := <-loadEnded; err == nil || err.Error() != want {
		t.Errorf("the load ended with %v, want %q", err, want)
	}
	if _, err := r.Host().Describe(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a request to the stopped agent returned %v, want %q", err, want)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Serve returned %v, want nil", err)
	}
}

// When a controller has ended its session, none of the processes that it started remains.
func TestClosingASessionEndsItsProcesses(t *testing.T) {
	s, to := served(t, nil)
	s.launch = anything
	r := dialled(t, to)
	p, err := r.Host().Start(t.Context(), host.Command{Path: "/bin/sh", Args: []string{"-c", "trap '' TERM; sleep 1000"}, Dir: string(s.folder)})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if p.Identity().Running() {
		t.Error("the process is still running after the session")
	}
	<-p.Exited()
	if err := r.Close(); err != nil {
		t.Errorf("closing the session again returned: %v", err)
	}
}

// The controller treats a suspended agent as lost after two heartbeats without a reply. Everything
// that waits for the agent then returns an error.
func TestLosesAPausedAgent(t *testing.T) {
	stuck := make(chan struct{})
	free := sync.OnceFunc(func() { close(stuck) })
	defer free()
	still := make(chan struct{})
	w := endless{began: make(chan struct{}), ended: make(chan struct{})}
	_, to := served(t, func(o *Options) {
		o.Worker, o.Heartbeat = w, time.Second
		o.Clock = Clock{Now: func() time.Time {
			select {
			case <-still:
				<-stuck // like a suspended process
			default:
			}
			return time.Now()
		}, After: func(time.Duration) <-chan time.Time { return nil }}
	})
	m := &manual{now: epoch}
	to.Clock = m.clock()
	r := dialled(t, to)
	ended := make(chan error, 1)
	go func() {
		_, err := r.Worker().Clock(context.Background())
		ended <- err
	}()
	<-w.began
	close(still)
	var err error
	settle.Eventually(t, "the agent is lost", func() bool {
		m.advance(time.Second)
		select {
		case err = <-ended:
			return true
		default:
			return false
		}
	})
	if err == nil || !strings.Contains(err.Error(), "agent there at ") || !strings.Contains(err.Error(), "the agent did not respond for 2s") {
		t.Errorf("%v", err)
	}
	if _, err := r.Host().Describe(t.Context()); err == nil || !strings.Contains(err.Error(), "is lost") {
		t.Errorf("a request after the loss of the agent returned: %v", err)
	}
	free()
}

// Times from an agent are converted correctly even if the agent's clock is set during the session.
func TestConvertsTimesAfterClockJumps(t *testing.T) {
	var mu sync.Mutex
	ahead := time.Hour
	set := func(to time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		ahead = to
	}
	_, to := served(t, func(o *Options) {
		o.Heartbeat = 10 * time.Second
		o.Clock = Clock{After: time.After, Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(ahead)
		}}
	})
	m := &manual{now: epoch}
	to.Clock = Clock{Now: time.Now, After: func(d time.Duration) <-chan time.Time {
		if d < 10*time.Second {
			return nil // the timer for a missing reply never expires, even if a reply is late
		}
		return m.after(d)
	}}
	r := dialled(t, to)
	near := func(what string, at time.Time, bound time.Duration) {
		t.Helper()
		if d := time.Until(at).Abs(); d > time.Minute+bound {
			t.Errorf("%s differs from the local time by %v", what, d)
		}
	}
	look := func(want time.Duration) {
		t.Helper()
		o := r.Offset()
		if (o.Ahead-want).Abs() > o.Bound || o.Bound <= 0 {
			t.Errorf("the estimate is %+v, but the agent's clock is %v ahead", o, want)
		}
		at, err := r.Worker().Clock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		near("the worker's clock", at, o.Bound)
		sample, err := r.Host().Sample(t.Context(), nil, false)
		if err != nil {
			t.Fatal(err)
		}
		near("the sample's time", sample.At, o.Bound)
	}
	look(time.Hour)
	set(-time.Hour)
	settle.Eventually(t, "the jump of the clock is detected", func() bool {
		m.advance(10 * time.Second)
		return r.Offset().Jumps > 0
	})
	look(-time.Hour)
	if o := r.Offset(); (o.ChangeSinceFirst + 2*time.Hour).Abs() > time.Minute {
		t.Errorf("the recorded change of the clock is %v, want about -2h", o.ChangeSinceFirst)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// Streams without the session's token are rejected.
func TestStreamsNeedTheSession(t *testing.T) {
	s, to := served(t, nil)
	r := dialled(t, to)
	for _, token := range []string{"", "x", strings.Repeat("0", 32)} {
		before := r.token
		r.token = token
		if _, err := r.Host().Describe(t.Context()); err == nil || !strings.Contains(err.Error(), "the session with the agent has ended, or never began") {
			t.Errorf("token %q: %v", token, err)
		}
		r.token = before
	}
	if _, err := r.Host().Describe(t.Context()); err != nil {
		t.Error(err)
	}
	now := s.currentSession()
	now.endStreams(errors.New("x"))
	if now.begin(now.token) {
		t.Error("a session that has ended accepted a stream")
	}
}
