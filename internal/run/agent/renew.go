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

// renew replaces the credentials of one of this session's members with the credentials in a launch.
// It writes only the two certificate files that the store's package specifies.
func (s *Server) renew(ctx context.Context, now *session, of *host.Launch) error {
	p, err := s.launcher.process(of)
	if err != nil {
		return err
	}
	st, err := s.launcher.stores(of.Store)
	if err != nil {
		return err
	}
	files, ok := st.(store.Embedded)
	i := slices.IndexFunc(of.Members, func(m kv.MemberPlace) bool { return m.Name == of.Process })
	if !ok || i < 0 {
		return fmt.Errorf("the %s cluster has no member %q that can use new certificates", of.Store, of.Process)
	}
	certificate, key := files.CertificateFiles(of.Members[i])
	if len(p.Files[certificate]) == 0 || len(p.Files[key]) == 0 {
		return fmt.Errorf("member %s has no certificate, because it does not use TLS", of.Process)
	}
	if !now.claims(p.Dir) {
		return fmt.Errorf("the folder %[2]s of member %[1]s is not in a data folder of this session", p.Name, p.Dir)
	}
	if err := s.folder.checkAll([]string{certificate, key}); err != nil {
		return err
	}
	return errors.Join(s.host.WriteFile(ctx, key, p.Files[key]), s.host.WriteFile(ctx, certificate, p.Files[certificate]))
}
