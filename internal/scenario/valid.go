package scenario

import "github.com/quorumbench/quorumbench/internal/scenario/application"

// Valid returns the first thing that is wrong with a load that is Complete, as one
// sentence in the words of scenario files: for loads that come from elsewhere, and that may
// be of one of the applications.
func (l *Load) Valid(apps []application.Application) error {
	if found := l.problems(words{}, apps); len(found) > 0 {
		return found[0]
	}
	return nil
}

// Valid returns the first thing that is wrong with how a cluster is to be reached,
// likewise. It opens no file and no connection.
func (a *Attach) Valid() error {
	if wrong := a.check(words{}); wrong != nil {
		return wrong
	}
	return nil
}
