package store

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/printable"
)

// defaultDialTimeout is what Access.DialTimeout says.
const defaultDialTimeout = 5 * time.Second

// maxAlarms is how many alarms of a member are kept.
const maxAlarms = 10

// Timeout is the dial timeout with its default.
func (a Access) Timeout() time.Duration {
	if a.DialTimeout <= 0 {
		return defaultDialTimeout
	}
	return a.DialTimeout
}

// Refused reports whether an error says that nothing listens at an endpoint.
// The text is for clients that keep no chain of errors.
func Refused(err error) bool {
	return err != nil && (errors.Is(err, syscall.ECONNREFUSED) || strings.HasSuffix(err.Error(), "connection refused"))
}

// MakePrintable is for what a member says of itself: names and versions are its
// own choice. An error is made printable where it is printed.
func (m *Member) MakePrintable() {
	m.Name = printable.Line(m.Name, printable.OfServer)
	m.Version = printable.Line(m.Version, printable.OfServer)
	m.Alarms = slices.Clone(m.Alarms[:min(len(m.Alarms), maxAlarms)])
	for i := range m.Alarms {
		m.Alarms[i] = printable.Line(m.Alarms[i], printable.OfServer)
	}
}

// AskAll is a Status of n endpoints, which are all asked at the same time, each
// by its number from 0. The error is for when none answers. What they say of
// themselves is printable.
func AskAll(n int, ask func(i int) Member) (Status, error) {
	s := Status{Members: make([]Member, n)}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			s.Members[i] = ask(i)
			s.Members[i].MakePrintable()
		})
	}
	wg.Wait()
	var versions, errs []string
	for _, m := range s.Members {
		if m.Err != nil {
			errs = append(errs, m.Err.Error())
			continue
		}
		s.Term = max(s.Term, m.Term)
		if m.Version != "" && !slices.Contains(versions, m.Version) {
			versions = append(versions, m.Version)
		}
	}
	s.Version = strings.Join(versions, ", ")
	if len(errs) == n {
		return s, errors.New(strings.Join(errs, "; "))
	}
	return s, nil
}
