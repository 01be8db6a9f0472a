package scenario

import "github.com/quorumbench/quorumbench/internal/scenario/application"

// Valid returns the first error of a load that is Complete, as one sentence with the keys
// of scenario files. It is for loads that were not parsed by this package and may imitate
// one of the applications.
func (l *Load) Valid(apps []application.Application) error {
	if found := l.problems(words{}, apps); len(found) > 0 {
		return found[0]
	}
	return nil
}

// Valid returns the first error in the description of a running cluster, as one sentence.
// It opens no file and no connection.
func (a *Attach) Valid() error {
	if wrong := a.check(words{}); wrong != nil {
		return wrong
	}
	return nil
}
