package cli

import (
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quorumbench/quorumbench/internal/testing/certs"
)

// certificates writes an authority, ca.pem, and two certificates for 127.0.0.1 with their keys:
// server.pem (valid) and expired.pem (expired yesterday).
func certificates(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: certificates")
	}
	dir, now := ts.Getenv("WORK"), time.Now()
	ca := certs.NewAuthority(ts, "test authority")
	certs.WriteFile(ts, filepath.Join(dir, "ca.pem"), ca.PEM)
	for name, until := range map[string]time.Time{"server": now.AddDate(1, 0, 0), "expired": now.AddDate(0, 0, -1)} {
		ca.Issue(ts, name, until).Write(ts, filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-key.pem"))
	}
}
