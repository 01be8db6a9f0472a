package zookeeper

import "context"

// touch begins a session at an endpoint and ends it: two transactions, which
// every member gets.
func (a *admin) touch(ctx context.Context, endpoint string) error {
	s, err := a.beginAt(ctx, endpoint)
	if err != nil {
		return err
	}
	return s.end()
}
