package runner

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// running is the cluster that the trials use now. One runs at a time, so that
// none takes from another.
type running struct {
	key   string
	name  string           // for people
	own   *cluster.Cluster // nil: attached
	trial trial.Cluster
	lost  bool // a member did not answer after the last trial
}

// enter returns the cluster that the trial needs: the one that runs, if its
// launch settings are the same and all its members live, or a new one.
func (r *run) enter(ctx context.Context, spec *scenario.Trial) (trial.Cluster, error) {
	if r.now != nil && r.now.key == spec.Cluster.Key && r.now.whole() {
		return r.now.trial, nil
	}
	if err := r.leave(ctx); err != nil {
		return trial.Cluster{}, err
	}
	st, err := r.Lookup(spec.Cluster.Store)
	if err != nil {
		return trial.Cluster{}, err
	}
	r.started++
	id := fmt.Sprintf("cluster-%d", r.started)
	if spec.Cluster.Attach != nil {
		return r.attach(st, spec, id)
	}
	return r.start(ctx, st, spec, id)
}

// whole reports whether no member has ended or stands still.
func (n *running) whole() bool {
	if n.own == nil {
		return true
	}
	if n.lost {
		return false
	}
	select {
	case <-n.own.Exits():
		return false
	default:
		return true
	}
}

// leave stops the cluster that runs, if it is ours.
func (r *run) leave(ctx context.Context) error {
	now := r.now
	r.now = nil
	if now == nil || now.own == nil {
		return nil
	}
	r.tell(Progress{Stage: Stopping, Name: now.name})
	err := now.own.Stop(ctx)
	r.made = host.RemoveMade(r.made)
	return err
}

// attach reaches a cluster that runs already.
func (r *run) attach(st store.Store, spec *scenario.Trial, id string) (trial.Cluster, error) {
	access, err := load.AccessOf(spec.Cluster.Attach)
	if err != nil {
		return trial.Cluster{}, err
	}
	c := trial.Cluster{ID: id, Store: st, Access: access, Attached: true, Shared: loopback(access.Endpoints)}
	r.now = &running{key: spec.Cluster.Key, trial: c}
	return c, r.out.AddCluster(record.Cluster{ID: id, Store: st.Name()})
}

// start starts a cluster of our own.
func (r *run) start(ctx context.Context, st store.Store, spec *scenario.Trial, id string) (trial.Cluster, error) {
	name := fmt.Sprintf("%s cluster of %d", st.Name(), spec.Cluster.Members)
	r.tell(Progress{Stage: Starting, Name: name})
	exec, err := Server(st, &spec.Cluster)
	if err != nil {
		return trial.Cluster{}, err
	}
	dir, err := r.dataDir()
	if err != nil {
		return trial.Cluster{}, err
	}
	own, err := cluster.Start(ctx, r.host, st, cluster.Spec{
		Name: id, Members: spec.Cluster.Members, Exec: exec, Self: r.Self,
		Settings: spec.Cluster.Settings, Env: spec.Cluster.Environment(), Dir: dir, LogDir: filepath.Join(r.out.Dir(), "logs", id),
	})
	if err != nil {
		r.made = host.RemoveMade(r.made)
		return trial.Cluster{}, err
	}
	shared := true
	c := trial.Cluster{ID: id, Store: st, Access: own.Access(), Shared: &shared, Notes: own.Notes(), Names: map[string]string{}}
	r.now = &running{key: spec.Cluster.Key, name: name, own: own}
	about, err := r.describe(ctx, own, spec, id)
	if err != nil {
		return trial.Cluster{}, err
	}
	c.Durability = about.Durability
	for _, m := range own.Members() {
		c.Names[m.Endpoint] = m.Name
		c.Processes = append(c.Processes, trial.Process{Name: m.Name, PID: m.PID, Member: m.Name, LogFile: m.LogFile})
		for _, b := range m.Behind {
			c.Processes = append(c.Processes, trial.Process{Name: b.Name, PID: b.PID, Member: m.Name, LogFile: b.LogFile})
		}
	}
	r.now.trial = c
	return c, r.out.AddCluster(about)
}

// describe is what the record says of a cluster that we started.
func (r *run) describe(ctx context.Context, own *cluster.Cluster, spec *scenario.Trial, id string) (record.Cluster, error) {
	status, err := own.Status(ctx)
	if err != nil {
		return record.Cluster{}, fmt.Errorf("the cluster does not tell its state: %w", err)
	}
	about := record.Cluster{
		ID: id, Store: spec.Cluster.Store, Version: status.Version, Started: true,
		Exec: spec.Cluster.Exec, Settings: spec.Cluster.Settings, Env: spec.Cluster.Env, Notes: own.Notes(),
	}
	for _, m := range own.Members() {
		member := record.Member{ID: record.ID(m.ID), Name: m.Name, Endpoint: m.Endpoint, Machine: r.machine.Name}
		for i := range status.Members {
			if status.Members[i].Endpoint == m.Endpoint {
				member.ID, member.Version = record.ID(status.Members[i].ID), status.Members[i].Version
			}
		}
		about.Members = append(about.Members, member)
	}
	about.Durability, err = durability(own)
	return about, err
}
