package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

// renew replaces the credentials of a member of the current session with the credentials in a
// launch. It writes only the two certificate files that the store's package specifies.
func (s *Server) renew(ctx context.Context, current *session, launch *host.Launch) error {
	p, err := s.launcher.process(launch)
	if err != nil {
		return err
	}
	st, err := s.launcher.stores(launch.Store)
	if err != nil {
		return err
	}
	embedded, ok := st.(store.Embedded)
	i := slices.IndexFunc(launch.Members, func(m kv.MemberPlace) bool { return m.Name == launch.Process })
	if !ok || i < 0 {
		return fmt.Errorf("the %s cluster has no member %q that can use new certificates", launch.Store, launch.Process)
	}
	certificate, key := embedded.CertificateFiles(launch.Members[i])
	if len(p.Files[certificate]) == 0 || len(p.Files[key]) == 0 {
		return fmt.Errorf("member %s has no certificate, because it does not use TLS", launch.Process)
	}
	if !current.hasClaimed(p.Dir) {
		return fmt.Errorf("the folder %[2]s of member %[1]s is not in a data folder of this session", p.Name, p.Dir)
	}
	if err := s.folder.checkAll([]string{certificate, key}); err != nil {
		return err
	}
	return errors.Join(s.host.WriteFile(ctx, key, p.Files[key]), s.host.WriteFile(ctx, certificate, p.Files[certificate]))
}
