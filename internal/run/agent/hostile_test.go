package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// hostile starts an agent that accepts a controller's session. For each other stream, it calls the
// function `say`, which sends the messages that the test needs.
func hostile(t *testing.T, say func(in *stream)) *Remote {
	t.Helper()
	c := certificates(t, "127.0.0.1")
	config, err := ServerTLS(c.CA, c.Hosts[0]+".crt", c.Hosts[0]+".key")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	session := func(_ any, st grpc.ServerStream) error {
		in := &stream{messageStream: st, close: func() {}}
		if _, err := receiveJSON[hello](in); err != nil {
			return err
		}
		if err := sendJSON(in, welcome{Token: "x", Heartbeat: 20 * time.Second}); err != nil {
			return err
		}
		for {
			b, err := receiveJSON[heartbeat](in)
			if err != nil {
				return nil
			}
			b.RequestReceived = time.Now()
			b.ReplySent = b.RequestReceived
			if err := sendJSON(in, b); err != nil {
				return nil
			}
		}
	}
	other := func(_ any, st grpc.ServerStream) error {
		in := &stream{messageStream: st, close: func() {}}
		if _, err := in.Receive(); err == nil {
			say(in)
		}
		return nil
	}
	g.RegisterService(&grpc.ServiceDesc{ServiceName: serviceName, HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		newStreamDesc(sessionMethod, session), newStreamDesc(hostMethod, other), newStreamDesc(workMethod, other),
	}}, nil)
	go func() { _ = g.Serve(l) }() // stopped at the end of the test
	t.Cleanup(g.Stop)
	return dialled(t, Target{Name: "evil", Address: l.Addr().String(), CACert: c.CA, Cert: c.Controller + ".crt", Key: c.Controller + ".key"})
}

// Impossible replies from an agent are rejected with an error that contains the agent's name.
func TestRefusesImpossibleRepliesOfAHost(t *testing.T) {
	ctx := context.Background()
	id := host.Identity{PID: 7}
	copied := func(h host.Host) error { _, err := h.CopyLog(ctx, "/d/m1.log", io.Discard); return err }
	for want, test := range map[string]struct {
		says []reply
		do   func(h host.Host) error
	}{
		"has no folder": {[]reply{{Description: &host.Description{}}}, func(h host.Host) error { _, err := h.Describe(ctx); return err }},
		"not describe the requested processes": {[]reply{{Sample: &host.Sample{Processes: make([]probe.ProcessUsage, 5)}}}, func(h host.Host) error {
			_, err := h.Sample(ctx, []int{1}, false)
			return err
		}},
		"not have a valid address":        {[]reply{{Address: "127.0.0.1", Ports: []int{1, 2, 3}}}, func(h host.Host) error { _, err := h.Ports(ctx, 2); return err }},
		"valid address and the requested": {[]reply{{Address: "evil.example", Ports: []int{1, 2}}}, func(h host.Host) error { _, err := h.Ports(ctx, 2); return err }},
		"requested number of valid ports": {[]reply{{Address: "127.0.0.1", Ports: []int{1, 1 << 20}}}, func(h host.Host) error { _, err := h.Ports(ctx, 2); return err }},
		"not in the requested parent":     {[]reply{{Path: "/etc/x"}}, func(h host.Host) error { _, err := h.Claim(ctx, "/d"); return err }},
		"the requested parent folder":     {[]reply{{Path: "/d/../d/x"}}, func(h host.Host) error { _, err := h.Claim(ctx, "/d"); return err }},
		"has no ID": {[]reply{{Process: &host.Identity{PID: -1}}}, func(h host.Host) error {
			_, err := h.Start(ctx, host.Command{})
			return err
		}},
		"number of writes exceeds": {[]reply{{Fsync: []probe.FsyncResult{{Count: 1 << 40}}}}, func(h host.Host) error { _, err := h.Fsync(ctx, nil, 3); return err }},
		"to an unknown file": {[]reply{{}, {Lines: []host.Line{{File: 3}}}}, func(h host.Host) error {
			l, err := h.Follow(ctx, []string{"/d/a"})
			if err != nil {
				return err
			}
			_, _, err = l.Read(ctx)
			return err
		}},
		"have a valid size for each": {[]reply{{Sizes: make([]int64, 3)}}, func(h host.Host) error { _, _, err := h.MeasureFolders(ctx, []string{"/d"}); return err }},
		"size for each requested folder": {[]reply{{Sizes: []int64{1}, Cost: -1}}, func(h host.Host) error {
			_, _, err := h.MeasureFolders(ctx, []string{"/d"})
			return err
		}},
		"the copy of the log is longer than requested": {slices.Repeat([]reply{{Text: make([]byte, 4<<20), HasMore: true}}, 10), copied},
		"the copy of the log is longer":                {slices.Repeat([]reply{{HasMore: true}}, 3), copied},
		"a negative size":                              {[]reply{{OmittedBytes: -1}}, copied},
		`\x1b[31m`:                                     {[]reply{{Error: "\x1b[31m\nred"}}, func(h host.Host) error { return h.MakeDir(ctx, "/d/a") }},
		"more replies than requests": {append([]reply{{Process: &id}}, make([]reply, 3*maxSignalReplies)...), func(h host.Host) error {
			p, err := h.Start(ctx, host.Command{})
			if err != nil {
				return err
			}
			<-p.Exited()
			return errors.New(p.Exit().LossReason)
		}},
	} {
		r := hostile(t, func(in *stream) {
			for i, a := range test.says {
				if i == 1 && len(test.says) == 2 {
					if _, err := in.Receive(); err != nil {
						return
					}
				}
				if sendJSON(in, a) != nil {
					return
				}
			}
			_, _ = in.Receive()
		})
		if err := test.do(r.Host()); err == nil || !strings.Contains(err.Error(), "agent evil") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want a one-line error with %q, got %v", want, err)
		}
	}
}

// A worker that floods the controller, or sends messages that no load produces, is disconnected.
// The error contains the worker's name.
func TestRefusesInvalidMessagesOfAWorker(t *testing.T) {
	for want, says := range map[string][]string{
		"malformed message":                         {"m{"},
		"neither a message nor a per-second report": {"?"},
		"cannot decode a second":                    {"s\xff\xff\xff"},
		"a different message instead of the reply":  {`m{"mark":{"Phase":1}}`},
		"does not respond":                          {},
	} {
		r := hostile(t, func(in *stream) {
			for _, text := range says {
				if in.Send([]byte(text)) != nil {
					return
				}
			}
		})
		_, err := r.Worker().Prepare(t.Context(), &load.Assignment{}, load.Reports{})
		if err == nil || !strings.Contains(err.Error(), "agent evil") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want a one-line error with %q, got %v", want, err)
		}
	}
	big := strings.Repeat("x", maxMessageBytes+1)
	r := hostile(t, func(in *stream) { _ = in.Send([]byte(big)) })
	if _, err := r.Worker().Clock(t.Context()); err == nil || !strings.Contains(err.Error(), "agent evil") || !strings.Contains(err.Error(), "larger than max") {
		t.Errorf("a flood of messages returned: %v", err)
	}
}

// A controller that sends invalid requests receives errors, and the agent continues to serve.
func TestSurvivesInvalidRequestsOfAController(t *testing.T) {
	s, to := served(t, nil)
	r := dialled(t, to)
	inside := string(s.folder)
	for _, text := range []string{
		"", "{", "[]", `{"Do":"run"}`, `{"Do":"start"}`, `{"Do":"launch"}`, `{"Do":"launch","Launch":{"Store":"etcd"}}`, `{"Do":"copy-log"}`, `{"Do":"start","Command":{"Path":"/bin/sh"}}`, `{"Do":"claim"}`, `{"Do":"ports","Count":-1}`,
		`{"Do":"write-file"}`, `{"Do":"sample","PIDs":[` + strings.Repeat("1,", 5000) + `1]}`, fmt.Sprintf(`{"Do":"fsync","Paths":[%q],"Count":1000000000}`, inside),
	} {
		st, err := r.open(hostMethod)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Send([]byte(text)); err != nil {
			t.Fatal(err)
		}
		a, err := receiveJSON[reply](st)
		if err == nil && (a.Error == "" || strings.Contains(a.Error, "\n")) {
			t.Errorf("%.60q: %+v", text, a)
		}
		st.close()
	}
	if _, err := r.Worker().Prepare(t.Context(), &load.Assignment{Store: "etcd"}, load.Reports{}); err == nil || !strings.Contains(err.Error(), "no operation is given") {
		t.Errorf("an assignment without a load: %v", err)
	}
	claim, err := r.Host().Claim(t.Context(), filepath.Join(inside, "data"))
	if err != nil {
		t.Fatal(err)
	}
	if err := claim.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// An agent that reports impossible measurements is disconnected. The error contains the agent's
// name.
func TestCutsOffImpossibleMeasurements(t *testing.T) {
	for name, usage := range map[string]probe.ProcessUsage{
		"huge processor time":     {PID: 1, OK: true, UserSeconds: 1e308},
		"negative processor time": {PID: 1, OK: true, SystemSeconds: -7},
		"huge memory":             {PID: 1, OK: true, RSS: 1<<63 - 1},
		"negative memory":         {PID: 1, OK: true, RSS: -5},
	} {
		r := hostile(t, func(in *stream) {
			if sendJSON(in, reply{Sample: &host.Sample{Processes: []probe.ProcessUsage{usage}}}) == nil {
				_, _ = in.Receive()
			}
		})
		_, err := r.Host().Sample(t.Context(), []int{1}, false)
		if err == nil || !strings.Contains(err.Error(), "agent evil") || r.lost() == nil || !strings.Contains(r.lost().Error(), "cannot have been measured") {
			t.Errorf("%s: %v, and the agent is lost: %v", name, err, r.lost())
		}
	}
}
