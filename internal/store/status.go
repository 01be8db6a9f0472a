package store

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// defaultDialTimeout is what Access.DialTimeout says.
const defaultDialTimeout = 5 * time.Second

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

// AskAll is a Status of n endpoints, which are all asked at the same time, each
// by its number from 0. The error is for when none answers.
func AskAll(n int, ask func(i int) Member) (Status, error) {
	s := Status{Members: make([]Member, n)}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { s.Members[i] = ask(i) })
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
