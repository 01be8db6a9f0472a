package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The files that sessions leave are limited in size and age, and each removal is reported.
func TestBoundsTheFilesOfSessions(t *testing.T) {
	m := &manual{now: time.Now()}
	var mu sync.Mutex
	var said []string
	says := func(text string) bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(strings.Join(said, "\n"), text)
	}
	o := Options{Folder: filepath.Join(t.TempDir(), "agent"), Clock: m.clock(), Logf: func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, fmt.Sprintf(format, args...))
	}}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.maxKeptBytes = 1 << 20
	// session runs a session that leaves files with the given sizes in KiB: data that was not
	// released, and a log.
	session := func(data, log int) (claimed, room string) {
		now, err := s.beginSession(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		write := func(path string, kib int) {
			if err := os.WriteFile(path, make([]byte, kib<<10), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if data+log > 0 {
			if err := now.files.open(); err != nil {
				t.Fatal(err)
			}
		}
		if data > 0 {
			c, err := s.host.Claim(t.Context(), filepath.Join(now.files.path, "data"))
			if err != nil {
				t.Fatal(err)
			}
			now.addClaim(c)
			claimed = c.Path()
			write(filepath.Join(claimed, "file"), data)
		}
		if log > 0 {
			write(filepath.Join(now.files.path, "log"), log)
		}
		if err := s.endSession(t.Context(), now, errBye); err != nil {
			t.Fatal(err)
		}
		return claimed, now.files.path
	}
	there := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}

	data, room := session(100, 0)
	if !there(data) {
		t.Error("data below the size limit was not kept")
	}
	m.advance(keepDataFor)
	settle.Eventually(t, "data that is a day old is removed", func() bool { return !there(room) })
	if !says("removed " + data + ", the data that controller c left") {
		t.Errorf("the agent reported %q", said)
	}

	if data, room = session(2<<10, 0); there(room) || !says("removed "+data) || !says("exceeds the limit of 1.00 MiB") {
		t.Errorf("data above the size limit was kept; the agent reported %q", said)
	}

	_, first := session(0, 400)
	_, second := session(0, 400)
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(first, past, past); err != nil {
		t.Fatal(err)
	}
	_, third := session(0, 400)
	if there(first) || !there(second) || !there(third) || !says("removed "+first+", the logs of an earlier session") {
		t.Errorf("the logs of three sessions exceed the limit together; the folders exist: %v %v %v, want only the last two; the agent reported %q", there(first), there(second), there(third), said)
	}
	m.advance((keepDays + 1) * 24 * time.Hour)
	if _, err := New(o); err != nil || there(second) || there(third) {
		t.Errorf("expired logs still exist after the start of an agent: %v", err)
	}
	if _, room := session(0, 0); there(room) {
		t.Error("a session that wrote nothing left a folder")
	}
}
